import { type CallOptions, type ClientOptions, SupportWorkspace, type WebFetch } from 'support-workspace-sdk'
import { type OnceOptions, WriteJournal, type WriteJournalOptions } from 'support-workspace-sdk/journal'
import { createSandbox, type FaultRule, type Sandbox, type SandboxOptions } from 'support-workspace-sdk/sandbox'
import { type KeyValueStorage, memoryStorage } from 'support-workspace-sdk/storage'
import { expect, onTestFinished, vi } from 'vitest'
import { digestAtOnce } from './digest-at-once.ts'

export const body_html = '<p>On it &amp; thanks.</p>'

/** What the message of an unconfirmed write says, for each reason. */
const problems = {
  absent: 'the service shows nothing like it that is as new as the write',
  several: 'another write may have left what looks like it',
  unreadable: 'the check failed',
  changed: 'it was sent with another body or query',
  unclear: 'the service does not show enough to tell',
  removed: 'its record was removed',
  'invalid-find': 'the `find` option returned no list of effects',
}

export const unconfirmed = (reason: keyof typeof problems) => ({
  name: 'UnconfirmedWriteError',
  reason,
  message: expect.stringContaining(problems[reason]),
})
export const absent = unconfirmed('absent')

/** Lets time pass whenever nothing else happens, until the test ends. Digests take none. */
export function skipWaits(): void {
  digestAtOnce()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'], now: Date.parse('2026-03-01') })
  vi.setTimerTickMode('nextTimerAsync')
  onTestFinished(() => void vi.useRealTimers())
}

type Client = Partial<ClientOptions<'self'>>

/** A sandbox, and processes that use it. Connection errors of their clients prove that nothing was sent. */
export function open(options: SandboxOptions = {}) {
  const sandbox = createSandbox({ conversations: 1, now: Date.now, ...options })
  const storage = memoryStorage()
  const conversation = sandbox.state.conversations[0]?.id ?? ''
  const start = (client: Client = {}, journal: Partial<WriteJournalOptions<'self'>> = {}) =>
    new Process(conversation, { workspace: clientOf(sandbox, client), storage, ...journal })
  const create = (client: SupportWorkspace<'self'>) => client.messages.create(conversation, { body_html })
  /** The ids of the messages that were sent since. */
  const sent = () => sandbox.state.writes.filter(({ operation }) => operation === 'createMessage').map(({ id }) => id)
  /** Starts a process on a storage in memory with other methods. */
  const on = (methods: Partial<KeyValueStorage>) => start({}, { storage: { ...memoryStorage(), ...methods } })
  /** Lets the next message meet a fault. */
  const fail = (fault: Partial<FaultRule>) => sandbox.faults.add({ method: 'POST', path: messages, ...fault })
  return { sandbox, storage, conversation, start, on, create, sent, fail, ...start() }
}

/** The same, where the first message meets a fault. */
export function openWith(fault: Partial<FaultRule>, options?: SandboxOptions) {
  const world = open(options)
  world.fail(fault)
  return world
}

type Change = (response: Response, url: string, init: Parameters<WebFetch>[1]) => Response | Promise<Response>

/** Returns the `fetch` of a sandbox whose responses are changed on their way. */
export function fetchOf({ fetch }: Sandbox, change: Change): WebFetch {
  return async (url, init) => change(await fetch(url, init as RequestInit), url, init)
}

/** The same, where `/me` has other values while `isChanged` returns true. */
export function fetchWithMe(sandbox: Sandbox, change: object, isChanged = () => true): WebFetch {
  return fetchOf(sandbox, async (response, url) => {
    if (!url.endsWith('/me') || !isChanged()) return response
    return Response.json({ ...((await response.json()) as object), ...change }, response)
  })
}

export function clientOf({ url: baseUrl, fetch, issueToken }: Sandbox, options: Client = {}): SupportWorkspace<'self'> {
  const accessToken = issueToken({ actor: 'self' })
  return new SupportWorkspace<'self'>({ baseUrl, fetch, accessToken, ...options, actor: 'self' })
}

/** A process with a client and a journal. */
class Process {
  readonly workspace: SupportWorkspace<'self'>
  readonly journal: WriteJournal<'self'>
  readonly reply: (
    key?: string,
    once?: OnceOptions,
    text?: string,
    call?: CallOptions,
  ) => ReturnType<WriteJournal['once']>

  constructor(conversation: string, options: WriteJournalOptions<'self'>) {
    this.workspace = options.workspace
    this.journal = new WriteJournal(options)
    this.reply = (key = 'reply', once = {}, text = body_html, call = {}) =>
      this.journal.once(key, (client) => client.messages.create(conversation, { body_html: text }, call), once)
  }
}

export const messages = /\/messages$/

/** What a text of the storage contains that is not encrypted. */
export function decoded(text: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(text.replace('plain:', ''), 'base64url').toString()).content
}

export function encoded(key: string, content: object): string {
  return `plain:${Buffer.from(JSON.stringify({ nonce: 'n', key, content })).toString('base64url')}`
}
