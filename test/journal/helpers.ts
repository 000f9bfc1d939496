import { type ClientOptions, SupportWorkspace } from 'support-workspace-sdk'
import { type OnceOptions, WriteJournal, type WriteJournalOptions } from 'support-workspace-sdk/journal'
import { createSandbox, type Sandbox, type SandboxOptions } from 'support-workspace-sdk/sandbox'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { onTestFinished, vi } from 'vitest'
import { provenFetches } from '../../src/http/fetch-error.ts'

export const body_html = '<p>On it &amp; thanks.</p>'

/** Lets time pass whenever nothing else happens, until the test ends. */
export function skipWaits(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'], now: Date.parse('2026-03-01') })
  vi.setTimerTickMode('nextTimerAsync')
  onTestFinished(() => void vi.useRealTimers())
}

type Client = Partial<ClientOptions<'self'>>

/** A sandbox, and processes that use it. Connection errors of their clients prove that nothing was sent. */
export function open(options: SandboxOptions = {}) {
  const sandbox = createSandbox({ conversations: 1, now: Date.now, ...options })
  provenFetches.add(sandbox.fetch)
  const storage = memoryStorage()
  const conversation = sandbox.state.conversations[0]?.id ?? ''
  const start = (client: Client = {}, journal: Partial<WriteJournalOptions<'self'>> = {}) =>
    new Process(clientOf(sandbox, client), conversation, { storage, ...journal })
  /** The ids of the messages that were sent since. */
  const sent = () => sandbox.state.writes.filter(({ operation }) => operation === 'createMessage').map(({ id }) => id)
  return { sandbox, storage, conversation, start, sent, ...start() }
}

export function clientOf({ url: baseUrl, fetch, issueToken }: Sandbox, options: Client = {}): SupportWorkspace<'self'> {
  const accessToken = issueToken({ actor: 'self' })
  return new SupportWorkspace<'self'>({ baseUrl, fetch, accessToken, ...options, actor: 'self' })
}

/** A process with a client and a journal. */
class Process {
  readonly workspace: SupportWorkspace<'self'>
  readonly journal: WriteJournal<'self'>
  readonly reply: (key?: string, options?: OnceOptions, text?: string) => ReturnType<WriteJournal['once']>

  constructor(
    workspace: SupportWorkspace<'self'>,
    conversation: string,
    options: Omit<WriteJournalOptions<'self'>, 'workspace'>,
  ) {
    this.workspace = workspace
    this.journal = new WriteJournal({ workspace, ...options })
    this.reply = (key = 'reply', once = {}, text = body_html) =>
      this.journal.once(key, (own) => own.messages.create(conversation, { body_html: text }), once)
  }
}

export const messages = /\/messages$/
