// The programs of the guides that list conversations and then read each of them: one that cannot be read does not block the rest.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SupportWorkspace } from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { expect, onTestFinished, test, vi } from 'vitest'
import { jitter } from '../helpers/clock.ts'
import { useSandboxes } from '../sandbox/helpers.ts'
import { examplesFolder, readPage } from './page.ts'

const startSandbox = useSandboxes()

/** Each function with its page, and how its result is read: the ids of the conversations that it has done. */
const guides = [
  {
    path: 'docs/export.md',
    file: 'export-all.mts',
    async use(
      functions: Record<string, (...args: unknown[]) => Promise<void>>,
      workspace: SupportWorkspace<'self'>,
      folder: string,
    ) {
      const file = join(folder, 'out.ndjson')
      const ended = await functions.exportAll?.(workspace, file).catch((thrown: unknown) => thrown)
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
      const rows = lines.map((line): { id: string; messages: unknown } => JSON.parse(line))
      return { ended, done: rows.filter(({ messages }) => Array.isArray(messages)).map(({ id }) => id) }
    },
  },
  {
    path: 'docs/reply.md',
    file: 'reply-to-all.mts',
    async use(functions: Record<string, (...args: unknown[]) => Promise<void>>, given: SupportWorkspace<'self'>) {
      const done = new Set<string>()
      const workspace = given.withOptions({
        async middleware(call, next) {
          const reply = await next(call)
          if (call.operation.id === 'messages.list') done.add(call.parameters.conversation_id ?? '')
          return reply
        },
      })
      const journal = new WriteJournal({ workspace, storage: memoryStorage() })
      const ended = await functions.replyToAll?.(workspace, journal).catch((thrown: unknown) => thrown)
      return { ended, done: [...done] }
    },
  },
]

const connect = (sandbox: Sandbox) =>
  new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }), actor: 'self' })

/** Saves the files of a page beside the tests, where the package is found, and loads one of them. */
async function load(path: string, file: string) {
  mkdirSync(examplesFolder, { recursive: true })
  const folder = mkdtempSync(join(examplesFolder, 'unreadable-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, code] of readPage(path).files) writeFileSync(join(folder, name), code)
  return { folder, functions: await import(/* @vite-ignore */ join(folder, file)) }
}

test.each(guides.flatMap((guide) => [403, 410, 500].map((status) => [guide.path, status, guide] as const)))(
  '%s: a conversation that answers %i is named, and the others are read',
  async (path, status, { file, use }) => {
    jitter(0)
    const errors = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => errors.mockRestore())
    const sandbox = await startSandbox({ conversations: 12 })
    const ids = sandbox.state.conversations.map(({ id }) => id)
    const [, , broken = ''] = ids
    sandbox.faults.add({ path: `/conversations/${broken}/messages`, status, times: Infinity })
    const workspace = connect(sandbox)
    const { folder, functions } = await load(path, file)
    const { ended, done } = await use(functions, workspace, folder)
    expect(ended).toMatchObject({ status })
    expect(done).toEqual(ids.filter((id) => id !== broken))
    expect(errors.mock.calls.flat().join()).toContain(broken)
  },
)

test.each(guides.map((guide) => [guide.path, guide] as const))(
  '%s: an error that concerns all conversations ends it at once',
  async (path, { file, use }) => {
    const sandbox = await startSandbox({ conversations: 30 })
    sandbox.faults.add({ path: /\/messages$/, status: 401, times: Infinity })
    const workspace = connect(sandbox)
    const { folder, functions } = await load(path, file)
    expect((await use(functions, workspace, folder)).ended).toMatchObject({ status: 401 })
    expect(sandbox.requests.filter(({ path }) => path.endsWith('/messages')).length).toBeLessThan(12)
  },
)
