import { appendFile, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { SupportWorkspace } from 'support-workspace-sdk'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { sqliteStorage } from 'support-workspace-sdk/storage'
import { expect, vi } from 'vitest'
import type { Programs, Reader } from '../reader.ts'

/** Loads code into a program before its own. */
const preload = (code: string) => ({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` })

/** Kills the program when it has received so many responses to a method. */
const killedAfter = (method: string, count: number) =>
  preload(`
    let left = ${count}
    const { fetch } = globalThis
    globalThis.fetch = async (url, init) => {
      const response = await fetch(url, init)
      if (init.method === '${method}' && --left === 0) process.kill(process.pid, 'SIGKILL')
      return response
    }
  `)

/** Changes a file of the page. */
async function edit({ folder }: Reader, file: string, from: string, to: string): Promise<void> {
  const code = await readFile(`${folder}/${file}`, 'utf8')
  expect(code).toContain(from)
  await writeFile(`${folder}/${file}`, code.replace(from, to))
}

/** Lets a journal give up at once. */
const giveUpSoon = (reader: Reader, file: string) =>
  edit(reader, file, 'new WriteJournal({ ', 'new WriteJournal({ confirmTimeout: 1, ')

const remove = ({ folder }: Reader, ...names: string[]) =>
  Promise.all(names.map((name) => rm(`${folder}/${name}`, { force: true })))

/** Adds a damaged entry to a storage. Returns a function that removes it. */
async function damage({ folder }: Reader, file: string, key: string): Promise<() => Promise<unknown>> {
  const change = async (from: string | null, to: string | null) => {
    const storage = sqliteStorage(`${folder}/${file}`)
    expect(await storage.compareAndSet(key, from, to)).toBe(true)
    storage.close()
  }
  await change(null, 'garbage')
  return () => change('garbage', null)
}

const linesOf = (text: string) => text.split('\n').filter(Boolean)

/** The conversations in which a customer had the last word. */
const waitingIn = ({ state }: Sandbox) =>
  state.conversations.filter(({ id, user }) => state.messages(id)[0]?.user.id === user.id)

const workspaceOf = ({ url, issueToken }: Sandbox) =>
  new SupportWorkspace({ baseUrl: url, accessToken: issueToken({ actor: 'self' }), actor: 'self' })

/** The ids of conversations, and for each applied write in them `messages` or `notes`. */
const writesIn = ({ state }: Sandbox) =>
  Map.groupBy(
    state.writes.map(({ path }) => path.split('/').slice(-2)),
    ([conversation = '']) => conversation,
  )

/** Expects one reply and one note in each of so many conversations. */
function expectPairs(sandbox: Sandbox, count: number): void {
  const conversations = [...writesIn(sandbox).values()].map((writes) => writes.map(([, kind]) => kind))
  expect(conversations).toHaveLength(count)
  for (const kinds of conversations) expect(kinds).toEqual(['messages', 'notes'])
}

/** Runs the worker while it makes two passes, and meanwhile. Returns what it has printed. */
async function work({ run, sandbox }: Reader, meanwhile = () => {}) {
  const passes = () => {
    const lists = () =>
      sandbox.requests.filter(({ operation, query }) => operation === 'listConversations' && !query.after)
    const before = lists().length
    return vi.waitFor(() => expect(lists().length).toBeGreaterThan(before + 2), 30_000)
  }
  sandbox.clearRequests()
  const ended = run({ file: 'draft.mts', env: { WATCH_SECONDS: '0.05' } })
  await passes()
  meanwhile()
  await passes()
  sandbox.revokeAll()
  const { code, stdout, stderr } = await ended
  expect(code, stderr).toBe(77)
  return { stdout, stderr }
}

/** What is wrong with one conversation is told, and holds up no draft for another. When it is mended, the draft comes. */
async function draftBesideFailures(reader: Reader): Promise<void> {
  const sandbox = await reader.useSandbox({ conversations: 3 })
  await remove(reader, 'approvals.db')
  await work(reader)
  const [damaged = '', forbidden = '', fine = ''] = sandbox.state.conversations.map(({ id }) => id)
  const messages = [damaged, forbidden, fine].map((id) => sandbox.receiveMessage(id, '<p>Hello?</p>'))
  const mend = await damage(reader, 'approvals.db', `approvals:open:reply:${messages[0]}`)
  const mendFailed = await damage(reader, 'approvals.db', 'failed:cnv_1:msg_1')
  // The feed can read the messages, and the program cannot.
  sandbox.faults.add({
    path: new RegExp(`${forbidden}/messages`),
    after: 1,
    times: Number.POSITIVE_INFINITY,
    status: 403,
  })
  const first = await work(reader)
  expect(first.stdout).toBe(`Drafted reply:${messages[2]}\n`)
  for (const [index, id] of [damaged, forbidden].entries()) {
    expect(first.stderr).toContain(`failed:${id}:${messages[index]} needs a person`)
  }
  expect(first.stderr).toContain('failed:cnv_1:msg_1 needs a person')
  const { stdout: list, stderr } = await reader.run({ file: 'approve.mts' })
  expect(linesOf(list)).toEqual([expect.stringContaining(`reply:${messages[2]}`)])
  expect(stderr).toContain(`reply:${messages[0]}`)
  await mend()
  await mendFailed()
  sandbox.faults.clear()
  const next = await work(reader)
  expect(linesOf(next.stdout).sort()).toEqual([`Drafted reply:${messages[0]}`, `Drafted reply:${messages[1]}`].sort())
  expect(await work(reader)).toMatchObject({ stdout: '' })
}

/** A person approves an edit, the same draft again, a draft that is stale by then, and rejects one. */
async function approveReplies(reader: Reader): Promise<void> {
  const { run } = reader
  const sandbox = await reader.useSandbox({ conversations: 3 })
  const [{ id } = { id: '' }] = sandbox.state.conversations
  /** Lets the customer write while the worker runs. Returns the key and the digest of the draft. */
  const draft = async (question: string, sent?: string): Promise<[key: string, digest: string]> => {
    let message = sent
    const { stdout } = await work(reader, () => {
      message ??= sandbox.receiveMessage(id, `<p>${question}</p>`)
    })
    expect(stdout).toBe(`Drafted reply:${message}\n`)
    const { stdout: list } = await run({ file: 'approve.mts' })
    const line = linesOf(list).find((one) => one.startsWith(`reply:${message} `)) ?? ''
    expect(line).toMatch(`{"body_html":"<p>Thank you for “${question}”. We are on it.</p>"}`)
    const [key = '', digest = ''] = line.split(' ')
    expect(key).toBe(`reply:${message}`)
    return [key, digest]
  }
  const answer = (...args: string[]) => run({ file: 'approve.mts', args })

  const first = await draft('Where is it?')
  expect(await answer(first[0])).toMatchObject({ code: 2, stderr: expect.stringContaining('Pass the digest') })
  expect((await answer(first[0], 'v1:other')).stderr).toContain('is not what the person saw')
  expect((await answer(...first, 'It is <here>.')).code).toBe(0)
  expect((await answer(...first)).stderr).toContain('is approved (approved by may)')
  expect(await run()).toMatchObject({ code: 0, stdout: `${first[0]} sent \n` })
  expect(sandbox.state.messages(id)[0]?.body_html).toBe('<p>It is &#60;here&#62;.</p>')

  // A reply that arrives after the customer has written again is no answer to that.
  const crossed = await draft('Is it broken?')
  expect((await answer(...crossed)).code).toBe(0)
  sandbox.faults.add({ method: 'POST', status: 503, lateEffect: 3_000 })
  expect(await run()).toMatchObject({ code: 65, stdout: expect.stringContaining(`${crossed[0]} unconfirmed`) })
  const next = sandbox.receiveMessage(id, '<p>Hello?</p>')
  await vi.waitFor(() => expect(sandbox.state.messages(id)[0]?.id).not.toBe(next), 30_000)
  const anew = await draft('Hello?', next)
  expect((await answer(...anew)).code).toBe(0)
  expect(linesOf((await run()).stdout).sort()).toEqual([`${anew[0]} sent `, `${crossed[0]} sent `].sort())

  const second = await draft('And the invoice?')
  sandbox.answer(id, '<p>Attached.</p>')
  expect((await answer(...second)).code).toBe(0)
  expect(await run()).toMatchObject({ code: 0, stdout: `${second[0]} stale \n` })
  const third = await draft('Can you call me?')
  expect((await answer(...third)).code).toBe(0)
  sandbox.faults.add({ method: 'POST', status: 429, retryAfter: 901 })
  expect(await run()).toMatchObject({ code: 75, stdout: expect.stringContaining(`${third[0]} postponed`) })
  sandbox.faults.add({ method: 'POST', status: 422 })
  expect(await run()).toMatchObject({ code: 65, stdout: expect.stringContaining(`${third[0]} refused`) })
  expect((await answer((await draft('Thanks!'))[0], 'reject')).code).toBe(0)
  expect(await run()).toMatchObject({ code: 0, stdout: '' })

  // The reply of a process that was killed while it sent it is checked later.
  const left = await draft('One more thing.')
  expect((await answer(...left)).code).toBe(0)
  expect((await run({ env: killedAfter('POST', 1) })).code).toBeNull()
  expect(await run()).toMatchObject({ code: 75, stdout: '' })
  expect((await run({ file: 'approve.mts' })).stdout).toContain(`${left[0]} sending ${id} {"body_html":`)
  expect((await answer(left[0], 'applied')).code).toBe(0)
  expect(await run()).toMatchObject({ code: 0, stdout: '' })
  expect(sandbox.state.writes).toHaveLength(4)
}

async function reply(reader: Reader): Promise<void> {
  const { run } = reader
  const sandbox = await reader.useSandbox({ conversations: 12 })
  const waiting = waitingIn(sandbox).length
  expect(waiting).toBeGreaterThan(5)
  // A run that is killed after the service has applied the third reply, before the journal knows it, and the next one.
  expect((await run({ env: killedAfter('POST', 5) })).code).toBeNull()
  expect(sandbox.state.writes).toHaveLength(5)
  const next = await run()
  expect(next.code, next.stderr).toBe(0)
  expect(linesOf(next.stdout)).toHaveLength(waiting - 2)
  expectPairs(sandbox, waiting)
  expect(await run()).toMatchObject({ code: 0, stdout: '' })
  expectPairs(sandbox, waiting)

  // A reply that somebody has deleted is not sent again, also not in other words.
  const [conversation = ''] = sandbox.state.writes.slice(-1).map(({ path }) => path.split('/').at(-2))
  await workspaceOf(sandbox).messages.delete(conversation, sandbox.state.messages(conversation)[0]?.id ?? '')
  await edit(reader, 'reply-in.mts', 'Thank you, we are on it.', 'We have read it.')
  expect(await run()).toMatchObject({ code: 0, stdout: '' })

  // A conversation that cannot be read, or is removed during the run, does not stop the others.
  const [first = '', second = '', third = ''] = sandbox.state.conversations.map(({ id }) => id)
  for (const id of [first, third]) sandbox.receiveMessage(id, '<p>Hello?</p>')
  sandbox.faults.add({ path: `/api/oauth/v1/conversations/${first}/messages`, status: 403 })
  const unread = await run()
  expect(unread).toMatchObject({ code: 70, stdout: `Replied in ${third}\n`, stderr: expect.stringContaining(first) })
  sandbox.receiveMessage(second, '<p>Hello?</p>')
  sandbox.faults.add({ path: `/api/oauth/v1/conversations/${first}/messages`, status: 404 })
  const skipped = await run()
  expect(skipped).toMatchObject({ code: 0, stdout: `Replied in ${second}\n` })
  expect(skipped.stderr).toContain(`Skipped ${first}`)
  expect((await run()).stdout).toBe(`Replied in ${first}\n`)

  // Neither does a damaged record.
  const [asked = ''] = [second, third].map((id) => sandbox.receiveMessage(id, '<p>Are you there?</p>'))
  const mend = await damage(reader, 'replies.db', `writes:reply:${asked}`)
  const held = await run()
  expect(held).toMatchObject({ code: 70, stdout: `Replied in ${third}\n`, stderr: expect.stringContaining(second) })
  await mend()
  expect((await run()).stdout).toBe(`Replied in ${second}\n`)

  // One reply that cannot be confirmed does not stop the others.
  await giveUpSoon(reader, 'reply.mts')
  for (const id of [second, third]) sandbox.receiveMessage(id, '<p>And now?</p>')
  sandbox.faults.add({ method: 'POST', drop: 'before-effect' })
  const before = sandbox.state.writes.length
  for (const code of [65, 65]) {
    const run2 = await run()
    expect(run2.code, run2.stderr).toBe(code)
    expect(run2.stderr).toMatch(/messages\.create of the key "reply:.+ {"body_html":"/)
    expect(sandbox.state.writes).toHaveLength(before + 2)
  }
}

/** The customer writes again before a killed reply is confirmed. Both messages get one reply and one note. */
async function replyTwice(reader: Reader): Promise<void> {
  const sandbox = await reader.useSandbox({ conversations: 1 })
  await remove(reader, 'replies.db')
  const [{ id } = { id: '' }] = sandbox.state.conversations
  expect((await reader.run({ env: killedAfter('POST', 1) })).code).toBeNull()
  sandbox.receiveMessage(id, '<p>And now?</p>')
  for (let runs = 0; runs < 2; runs += 1) {
    const { code, stderr } = await reader.run()
    expect(code, stderr).toBe(0)
    expect(sandbox.state.writes.map(({ operation }) => operation)).toEqual([
      'createMessage',
      'createMessage',
      'createNote',
      'createNote',
    ])
  }
}

/** An outage ends the program. The next run goes on with the others. */
async function replyInOutage(reader: Reader): Promise<void> {
  const sandbox = await reader.useSandbox({ conversations: 8 })
  expect(waitingIn(sandbox)).toHaveLength(8)
  await remove(reader, 'replies.db')
  sandbox.faults.add({ method: 'POST', drop: 'before-effect', times: 5 })
  for (const [code, applied] of [
    [75, 0],
    [65, 6],
  ]) {
    expect((await reader.run()).code).toBe(code)
    expect(sandbox.state.writes).toHaveLength(applied ?? 0)
  }
}

async function importContacts(reader: Reader): Promise<void> {
  const { run, sandbox, folder } = reader
  const save = (...emails: string[]) => writeFile(`${folder}/emails.txt`, `${emails.join('\r\n')}\r\n`)
  const known = sandbox.state.contacts[0]?.user.email ?? ''
  await save('new-1@example.com', known, 'new-2@example.com')
  expect((await run()).stdout).toMatch(/{"created":2,"there":1,"invalid":0,"unconfirmed":0} of 3\n$/)
  await save('new-1@example.com', 'nonsense', 'new-3@example.com')
  const invalid = await run()
  expect(invalid).toMatchObject({ code: 65, stderr: expect.stringContaining('nonsense') })
  expect(invalid.stdout).toMatch(/{"created":2,"there":0,"invalid":1,"unconfirmed":0} of 3\n$/)
  expect(sandbox.state.writes).toHaveLength(3)

  const emails = Array.from({ length: 20 }, (_, index) => `many-${index}@example.com`)
  await save(...emails)
  // One at a time: the next run would wait a minute for a contact that had not left yet.
  await edit(reader, 'import-contacts.mts', 'concurrency: 5', 'concurrency: 1')
  expect((await run({ env: killedAfter('POST', 8) })).code).toBeNull()
  await edit(reader, 'import-contacts.mts', 'concurrency: 1', 'concurrency: 5')
  expect(await run()).toMatchObject({ code: 0, stdout: expect.stringMatching(/{"created":20,.+ of 20\n$/) })
  expect(sandbox.state.writes).toHaveLength(23)
  sandbox.clearRequests()
  expect((await run()).code).toBe(0)
  expect(sandbox.requests.filter(({ method }) => method === 'POST')).toEqual([])

  await save(...emails.map((email) => `more-${email}`))
  await giveUpSoon(reader, 'import.mts')
  sandbox.faults.add({ method: 'POST', drop: 'before-effect' })
  const doubtful = await run()
  expect(doubtful).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('contacts.create of the key "contact:more'),
  })
  expect(doubtful.stdout).toMatch(/{"created":19,"there":0,"invalid":0,"unconfirmed":1} of 20\n$/)
}

async function exportAll(reader: Reader): Promise<void> {
  const { sandbox, folder } = reader
  const name = 'conversations-2026-11-24.ndjson'
  const file = `${folder}/${name}`
  const run = (given: Parameters<Reader['run']>[0] = {}) => reader.run({ args: [name], ...given })
  const read = async (path = file) => linesOf(await readFile(path, 'utf8')).map((line) => JSON.parse(line))
  const ids = () => sandbox.state.conversations.map(({ id }) => id)
  const removeFiles = () => remove(reader, name, `${name}.checkpoint`)
  expect(await run({ args: [] })).toMatchObject({ code: 1, stderr: expect.stringContaining('Pass the name') })

  // A run that is killed within the second page, and one that was killed after it had written the page.
  expect((await run({ env: killedAfter('GET', 80) })).code).toBeNull()
  expect(await read()).toHaveLength(50)
  await appendFile(file, '{"id":"half a pa')
  sandbox.clearRequests()
  const resumed = await run()
  expect(resumed, resumed.stderr).toMatchObject({ code: 0, stdout: `${name} is complete\n` })
  expect((await read()).map(({ id }) => id)).toEqual(ids())
  expect(sandbox.requests).toHaveLength(2 + 70)
  for (const path of [file, `${file}.checkpoint`]) expect((await stat(path)).mode & 0o777).toBe(0o600)

  // It is complete, and the export of the next night has another name.
  const [id = ''] = ids()
  sandbox.receiveMessage(id, '<p>And now?</p>')
  const complete = await readFile(file, 'utf8')
  sandbox.clearRequests()
  expect((await run()).code).toBe(0)
  expect(sandbox.requests).toEqual([])
  expect((await run({ args: ['next.ndjson'] })).code).toBe(0)
  expect(await readFile(file, 'utf8')).toBe(complete)
  const again = await read(`${folder}/next.ndjson`)
  expect(again).toHaveLength(120)
  const changed = again.find((conversation) => conversation.id === id)
  expect(changed.messages).toHaveLength(sandbox.state.messages(id).length)
  expect(changed.messages[0]).toMatchObject({ body_html: '<p>And now?</p>' })

  // It starts over without its file, and leaves a file without a checkpoint as it is.
  await remove(reader, name)
  expect((await run()).code).toBe(0)
  expect(await read()).toHaveLength(120)
  await remove(reader, `${name}.checkpoint`)
  expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining('has no checkpoint') })
  expect(await read()).toHaveLength(120)

  // After a rejected cursor it ends. The next run reads the list again, and writes what is missing. Some programs split lines at U+2028.
  await removeFiles()
  sandbox.receiveMessage(id, '<p>One\u2028two\nthree</p>')
  expect((await run({ env: killedAfter('GET', 80) })).code).toBeNull()
  sandbox.clearRequests()
  sandbox.failNext({ status: 410 })
  expect(await run()).toMatchObject({ code: 70, stderr: expect.stringContaining('CursorRejectedError') })
  const restarted = await run()
  expect(restarted.code, restarted.stderr).toBe(0)
  expect((await read()).map(({ id }) => id).sort()).toEqual(ids().sort())
  expect(sandbox.requests).toHaveLength(1 + 3 + 70)

  // One that cannot be read is tried again until it can, also if a run is killed meanwhile.
  await removeFiles()
  const [, second = ''] = ids()
  const fault = { path: `/api/oauth/v1/conversations/${second}/messages`, times: Number.POSITIVE_INFINITY }
  sandbox.faults.add({ ...fault, status: 403 })
  const others = ids().filter((id) => id !== second)
  expect(await run()).toMatchObject({ code: 70, stderr: expect.stringContaining(second) })
  expect((await read()).map(({ id }) => id)).toEqual(others)
  expect((await run()).code).toBe(70)
  await removeFiles()
  expect((await run({ env: killedAfter('GET', 80) })).code).toBeNull()
  expect(await run()).toMatchObject({ code: 70 })
  sandbox.faults.clear()
  sandbox.clearRequests()
  expect(await run()).toMatchObject({ code: 0, stdout: `${name} is complete\n` })
  expect((await read()).map(({ id }) => id)).toEqual([...others, second])
  expect(sandbox.requests).toHaveLength(3 + 1)

  // One that is removed during the export is left out.
  await removeFiles()
  sandbox.faults.add({ ...fault, status: 404 })
  expect(await run()).toMatchObject({ code: 0, stderr: expect.stringContaining(`Skipped ${second}`) })
  expect((await read()).map(({ id }) => id)).toEqual(others)
  sandbox.faults.clear()
}

export const runByEngines = { typesOnly: 'run by the test of the job engines' }

export const jobs: Programs = {
  'docs/reply.md': {
    'draft.mts': { typesOnly: 'run by the test of send.mts' },
    'approve.mts': { typesOnly: 'run by the test of send.mts' },
    'send.mts': async (reader) => {
      await approveReplies(reader)
      await draftBesideFailures(reader)
    },
  },
  'docs/automatic-replies.md': {
    'reply.mts': async (reader) => {
      await reply(reader)
      await replyTwice(reader)
      await replyInOutage(reader)
    },
  },
  'docs/import.md': { 'import.mts': importContacts },
  'docs/export.md': { 'export.mts': exportAll },
  'docs/write-journal.md': {
    'once.mts': async ({ run, sandbox }) => {
      for (let runs = 0; runs < 2; runs += 1) {
        const { code, stdout, stderr } = await run()
        expect([code, stdout], stderr).toEqual([0, 'true\n'])
        expect(sandbox.state.writes).toHaveLength(1)
      }
    },
    'unconfirmed.mts': async (reader) => {
      const { run, sandbox } = reader
      await giveUpSoon(reader, 'journal.mts')
      sandbox.faults.add({ method: 'POST', drop: 'before-effect' })
      const unconfirmed = () => run({ file: 'once.mts' })
      for (let runs = 0; runs < 2; runs += 1) expect((await unconfirmed()).stderr).toContain('UnconfirmedWriteError')
      expect(sandbox.state.writes).toEqual([])
      const mend = await damage(reader, 'journal.db', 'writes:damaged')
      const { stdout, stderr } = await run()
      expect(stderr).toContain('writes:damaged')
      await mend()
      const [key = ''] = stdout.split(' ')
      expect(stdout).toMatch(
        /^welcome:\S+ unconfirmed messages\.create \/api\/oauth\/v1\/conversations\/\S+ sent at \d{4}-\S+Z\n$/,
      )
      for (const args of [[key], [key, 'aplied']]) {
        expect(await run({ args })).toMatchObject({ code: 2, stderr: expect.stringMatching(/^Usage: /) })
      }
      expect((await run({ args: [key, 'absent'] })).code).toBe(0)
      expect((await run()).stdout).toBe('')
      expect((await unconfirmed()).stdout).toBe('true\n')
      expect(sandbox.state.writes).toHaveLength(1)
      expect((await run({ args: [key, 'applied'] })).stderr).toContain('is applied already')

      // A process that was killed while it sent a write. An hour later, the write is listed, and a person resolves it.
      await remove(reader, 'journal.db')
      expect((await run({ file: 'once.mts', env: killedAfter('POST', 1) })).code).toBeNull()
      expect((await run()).stdout).toBe('')
      const later = preload('const now = Date.now; Date.now = () => now() + 3_700_000')
      expect((await run({ env: later })).stdout).toMatch(/^welcome:\S+ sending messages\.create /)
      expect((await run({ args: [key, 'applied'] })).code).toBe(0)
      expect((await run({ env: later })).stdout).toBe('')
    },
    'task.mts': async ({ run, sandbox }) => {
      // The response is lost, so only `find` can tell.
      sandbox.faults.add({ method: 'POST', drop: 'after-effect' })
      for (const [order, writes] of [
        ['order_1', 1],
        ['order_1', 1],
        ['order_2', 2],
      ] as const) {
        const { code, stdout, stderr } = await run({ args: [order] })
        expect(code, stderr).toBe(0)
        expect(stdout).toMatch(/^\S+\n$/)
        expect(stdout).not.toBe('undefined\n')
        expect(sandbox.state.writes).toHaveLength(writes)
      }
    },
  },
  'docs/bullmq.md': {
    'bullmq.mts': { typesOnly: 'run by background-jobs.slow.test.ts' },
  },
  'docs/inngest.md': { 'inngest.mts': runByEngines },
  'docs/trigger-dev.md': { 'trigger.mts': runByEngines },
  'docs/temporal.md': { 'temporal.mts': runByEngines },
}
