import {
  type ClientOptions,
  defineOperation,
  type Middleware,
  type SupportWorkspace,
  SupportWorkspaceError,
  type WebFetch,
} from 'support-workspace-sdk'
import { Approvals, type ApprovalsOptions, type ProposeOptions, type SendResult } from 'support-workspace-sdk/approvals'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { createSandbox, type FaultRule, type SandboxOptions } from 'support-workspace-sdk/sandbox'
import { type KeyValueStorage, memoryStorage } from 'support-workspace-sdk/storage'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { rejection } from '../helpers/client.ts'
import { failingCallbacks } from '../helpers/failing-callbacks.ts'
import { listedWithFailingCallbacks } from '../helpers/listed-with-failing-callbacks.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'
import { clientOf, decoded as contentOf, encoded, fetchOf, fetchWithMe, skipWaits } from '../journal/helpers.ts'

beforeEach(skipWaits)

const secret = 'a secret of at least thirty-two characters'
const body_html = '<p>On its way.</p>'

function open(options: Partial<ApprovalsOptions> = {}, sandboxOptions: SandboxOptions = {}) {
  const sandbox = createSandbox({ conversations: 1, now: Date.now, ...sandboxOptions })
  const storage = memoryStorage()
  const conversation = sandbox.state.conversations[0]?.id ?? ''
  const workspace = clientOf(sandbox)
  const approvals = new Approvals({ workspace, storage, ...options })
  const create = (client: SupportWorkspace<'self'>) => client.messages.create(conversation, { body_html })
  const propose = (text = body_html, more: ProposeOptions = {}, key = 'r') =>
    approvals.propose(key, (client) => client.messages.create(conversation, { body_html: text }), more)
  const approve = async (more = {}, key = 'r') =>
    approvals.approve(key, { digest: (await approvals.get(key))?.digest ?? '', by: 'may', ...more })
  /** Proposes a text and approves it, a moment before what follows. */
  const approved = async (key = 'r', text = key === 'r' ? body_html : `<p>${key}</p>`, more: ProposeOptions = {}) => {
    await propose(text, more, key)
    const proposal = await approve({}, key)
    await vi.advanceTimersByTimeAsync(10)
    return proposal
  }
  /** Starts another process on the same storage. */
  const start = (client: Partial<ClientOptions<'self'>> = {}, more: Partial<ApprovalsOptions> = {}) =>
    new Approvals({ workspace: clientOf(sandbox, client), storage, ...more })
  /** Lets the next message meet a fault. */
  const fail = (fault: Partial<FaultRule>) => sandbox.faults.add({ method: 'POST', path: /messages$/, ...fault })
  const send = async (from = approvals) => {
    const results: SendResult[] = []
    for await (const result of from.send()) results.push(result)
    return results.map(({ state }) => state)
  }
  const sent = () =>
    sandbox.state.writes.filter(({ operation }) => operation === 'createMessage').map(({ id }) => textOf(String(id)))
  const textOf = (id: string) => sandbox.state.messages(conversation).find((each) => each.id === id)?.body_html
  const made = { approvals, start, create, fail, propose, approve, approved, send, sent }
  return { sandbox, storage, conversation, workspace, ...made }
}

describe('a proposal', () => {
  test('is sent once, as it was approved, and only then', async () => {
    const { approvals, propose, approve, send, sent } = open()
    const proposal = await propose()
    expect(proposal).toMatchObject({ state: 'pending', operation: 'messages.create', body: { body_html } })
    expect(JSON.parse(JSON.stringify(proposal))).toEqual(JSON.parse(JSON.stringify(await approvals.get('r'))))
    expect(await propose('<p>Another text.</p>')).toMatchObject({ digest: proposal.digest })
    expect([await send(), sent()]).toEqual([[], []])
    await approve()
    expect([await send(), sent()]).toEqual([['sent'], [body_html]])
    expect([await send(), sent()]).toEqual([[], [body_html]])
    expect(await approvals.list()).toEqual([])
    expect(await approvals.list({ state: 'sent' })).toMatchObject([{ key: 'r', id: expect.any(String) }])
    expect(await propose('<p>Another text.</p>', { again: true })).toMatchObject({ state: 'sent' })
  })

  test('may be made with a copy of the client', async () => {
    const { approvals, create } = open()
    const proposal = await approvals.propose('r', (client) => create({ ...client } as typeof client))
    expect(proposal).toMatchObject({ state: 'pending', body: { body_html } })
  })

  test('is one write, without headers', async () => {
    const { approvals, conversation, create } = open()
    const functions: Record<string, (client: SupportWorkspace<'self'>) => PromiseLike<unknown>> = {
      'makes no write': (client) => client.conversations.list(),
      // Braces without `return`.
      'does not return its call': ((client: SupportWorkspace<'self'>) =>
        void setTimeout(() => void create(client), 5)) as never,
      'makes more than one write': (client) => Promise.all([create(client), create(client)]),
      'sets headers': (client) => client.messages.create(conversation, { body_html }, { headers: { 'x-a': 'b' } }),
      'sets headers, which': (client) =>
        client.messages.create(conversation, { body_html }, { headers: () => ({ 'x-a': 'b' }) }),
      'the conversation written out': (client) =>
        client.request('POST', `/api/oauth/v1/conversations/${conversation}/messages`, { body: { body_html } }),
    }
    for (const [problem, write] of Object.entries(functions)) {
      expect(await rejection(approvals.propose('r', write))).toMatchObject({
        ...{ name: 'InvalidArgumentError', message: expect.stringContaining(problem) },
      })
    }
    expect(await approvals.list()).toEqual([])
  })

  test('does not end the process if its call is not awaited', async () => {
    vi.useRealTimers()
    const { approvals, create } = open()
    const functions: ((client: SupportWorkspace<'self'>) => unknown)[] = [
      (client) => void create(client),
      (client) => void client.request('POST', '/api/oauth/v1/own', { body: {} }),
      async (client) => {
        void create(client)
        await new Promise((resolve) => setTimeout(resolve, 20))
      },
    ]
    const unhandled = await unhandledDuring(async () => {
      for (const write of functions) {
        await approvals.propose('r', write as never, { basis: null, replace: true }).catch(() => {})
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    expect(unhandled).toEqual([])
  })

  test('is sent where it was approved, also if a path parameter changes while it is read', async () => {
    const { approvals, conversation, approve, send, sandbox } = open()
    const path = '/api/oauth/v1/conversations/{conversation_id}/messages'
    const operation = defineOperation({ id: 'own.create', method: 'POST', path, envelope: 'any' })
    let reads = 0
    const changing = {
      get conversation_id() {
        reads += 1
        return reads === 1 ? conversation : 'another'
      },
    }
    const write = (client: SupportWorkspace<'self'>) => client.call(operation, { path: changing, body: { body_html } })
    const approved = await approvals.propose('r', write, { basis: null })
    await approve()
    await send()
    expect(approved.conversationId).toBe(conversation)
    expect(sandbox.requests.filter(({ method }) => method === 'POST').map((each) => each.path)).toEqual([approved.path])
  })

  test('is replaced while it is pending, and begun anew after it has ended', async () => {
    const { approvals, propose, approve, send, sent } = open()
    const first = await propose()
    const second = await propose('<p>Second.</p>', { replace: true })
    expect(second.digest).not.toBe(first.digest)
    expect(await rejection(approvals.approve('r', { digest: first.digest, by: 'may' }))).toMatchObject({
      ...{ name: 'ApprovalsError', state: 'pending', message: expect.stringContaining('is not what the person saw') },
    })
    await approvals.reject('r', { by: 'bob', reason: 'rude' })
    expect(await propose('<p>Third.</p>')).toMatchObject({ state: 'rejected', reason: 'rude' })
    expect(await propose('<p>Third.</p>', { again: true })).toMatchObject({ state: 'pending' })
    await approve()
    expect([await send(), sent()]).toEqual([['sent'], ['<p>Third.</p>']])
  })

  test('of an app names the person whose token sends it', async () => {
    const { sandbox, storage, create, approve, send, sent } = open()
    const accessToken = sandbox.issueToken({ actor: 'app' })
    const workspace = clientOf(sandbox, { accessToken, actor: 'app' } as never).withOptions({})
    const bot = new Approvals({ workspace, storage })
    expect(await rejection(bot.propose('r', create))).toMatchObject({ argument: 'author' })
    const me = await clientOf(sandbox).me()
    await bot.propose('r', create, { author: me.user?.id })
    await approve()
    expect(await send(bot)).toEqual([])
    expect([await send(), sent()]).toEqual([['sent'], [body_html]])
  })

  test.each<
    [string, (client: SupportWorkspace<'self'>, conversation: string, message: string) => PromiseLike<unknown>]
  >([
    ['PATCH', (client, conversation) => client.conversations.update(conversation, { status: 'closed' })],
    ['DELETE', (client, conversation, message) => client.messages.delete(conversation, message)],
    ['POST without a conversation', (client) => client.contacts.create({ email: 'ada@example.com' })],
    [
      'POST with a query',
      (client) => client.contacts.create({ email: 'ada@example.com' }, { extraQuery: { notify: 'no' } }),
    ],
  ])('is sent like a call: a %s', async (_, write) => {
    const { approvals, approve, send, sandbox, workspace, conversation } = open()
    const { id: message } = await workspace.messages.create(conversation, { body_html })
    sandbox.clearRequests()
    const requests = () =>
      sandbox.requests
        .filter((each) => each.method !== 'GET')
        .map(({ method, path, query, body }) => ({ method, path, query, body }))
    await approvals.propose('r', (client) => write(client, conversation, message))
    await approve()
    expect(requests()).toEqual([])
    expect(await send()).toEqual(['sent'])
    const [approved] = requests()
    sandbox.clearRequests()
    await Promise.resolve(write(workspace as SupportWorkspace<'self'>, conversation, message)).catch(() => {})
    expect(requests()).toEqual([approved])
  })

  test('may be of a custom operation', async () => {
    const { approvals, approve, send, sandbox } = open()
    const operation = defineOperation({ id: 'own.create', method: 'POST', path: '/api/oauth/v1/own', envelope: 'any' })
    await approvals.propose('r', (client) => client.call(operation, { body: { b: 1, a: [2] } }))
    await approve()
    expect(await send()).toEqual(['refused'])
    expect(sandbox.requests.filter(({ method }) => method === 'POST').map(({ path }) => path)).toEqual([operation.path])
  })
})

describe('an approval', () => {
  test('can be of an edit, which is checked, and both are kept', async () => {
    const { propose, approve, send, sent } = open()
    const { digest } = await propose()
    expect(await rejection(approve({ body: { body_html: 5 } }))).toMatchObject({ name: 'InvalidArgumentError' })
    const edited = await approve({ body: { body_html: '<p>Edited.</p>' } })
    expect(edited).toMatchObject({ state: 'approved', earlier: [{ digest, body: { body_html } }] })
    expect(edited.digest).not.toBe(digest)
    expect([await send(), sent()]).toEqual([['sent'], ['<p>Edited.</p>']])
  })

  test('of an edit is of what the person saw, also if that was replaced twice meanwhile', async () => {
    const { sandbox, storage, workspace, approvals } = open()
    const [seen = '', other = ''] = ['one', 'two'].map(() => sandbox.state.conversations[0]?.id ?? '')
    const draft = (path: string, text: string) =>
      approvals.propose('r', (client) => client.notes.create(path, { body_html: text }), { replace: true, basis: null })
    const shown = await draft(seen, 'for A')
    await draft(other, 'for B')
    // The edit is made of the second proposal, and stored after the first has come back.
    const middleware: Middleware = async (call, next) => {
      await draft(seen, 'for A')
      return next(call)
    }
    const desk = new Approvals({ workspace: workspace.withOptions({ middleware }), storage })
    const error = await rejection(desk.approve('r', { digest: shown.digest, by: 'may', body: { body_html: 'edited' } }))
    expect(error).toMatchObject({ name: 'ApprovalsError', message: expect.stringContaining('not what the person saw') })
    expect(await approvals.get('r')).toMatchObject({ state: 'pending', body: { body_html: 'for A' } })
  })

  test('cannot be of an edit that nothing could check', async () => {
    const { approvals, conversation, workspace } = open()
    const sent = await workspace.messages.create(conversation, { body_html })
    const validate = (value: unknown) => ({ value })
    const path = '/api/oauth/v1/conversations/{conversation_id}/messages'
    const body = { '~standard': { version: 1, vendor: 'own', validate } } as const
    const own = defineOperation({ id: 'own.create', method: 'POST', path, envelope: 'any', body })
    const writes: Record<string, (client: SupportWorkspace<'self'>) => PromiseLike<unknown>> = {
      'an operation of your own': (client) =>
        client.call(own, { path: { conversation_id: conversation }, body: { body_html } }),
      'no body': (client) => client.messages.delete(conversation, sent.id),
    }
    for (const [problem, write] of Object.entries(writes)) {
      const { digest } = await approvals.propose(problem, write, { basis: null })
      const edit = approvals.approve(problem, { digest, by: 'may', body: { body_html: '<p>Edited.</p>' } })
      expect(await rejection(edit)).toMatchObject({
        ...{ name: 'InvalidArgumentError', argument: 'body', message: expect.stringContaining(problem) },
      })
      expect(await approvals.approve(problem, { digest, by: 'may' })).toMatchObject({ state: 'approved' })
    }
  })

  test('does not expire with `expiresIn: Infinity`', async () => {
    const { approvals, propose, approve, send } = open()
    expect(await propose(body_html, { expiresIn: Number.POSITIVE_INFINITY })).not.toHaveProperty('expiresAt')
    await approve()
    expect([await send(), (await approvals.list({ state: 'sent' })).length]).toEqual([['sent'], 1])
  })

  test('wins if it is the first answer', async () => {
    const { approvals, propose, approve, approved } = open()
    const { digest } = await approved()
    await approvals.approve('r', { digest, by: 'cleo' })
    expect(await propose('<p>Other.</p>', { replace: true })).toMatchObject({ state: 'approved', digest })
    const other = approvals.approve('r', { digest, by: 'bob', body: { body_html: '<p>Other.</p>' } })
    expect(await rejection(other)).toMatchObject({ name: 'ApprovalsError', state: 'approved', by: 'cleo' })
    expect((await approvals.get('r'))?.decisions).toMatchObject([{ by: 'may' }, { by: 'cleo' }])
    await approvals.reject('r', { by: 'bob' })
    expect(await rejection(approve())).toMatchObject({ state: 'rejected', by: 'bob' })
  })

  test('needs the digest, also from JavaScript', async () => {
    const { approvals, propose } = open()
    await propose()
    expect(await rejection(approvals.approve('r', { by: 'may' } as never))).toMatchObject({ argument: 'digest' })
    expect(await rejection(approvals.approve('none', { digest: 'v1:0', by: 'may' }))).toMatchObject({
      message: expect.stringMatching(/does not exist, .*Look for the key in `list`\.$/),
    })
  })

  test('that comes after the reply was sent is noted, and a different one is told what was sent', async () => {
    const { approvals, send, sent, approved } = open()
    const { digest } = await approved()
    await send()
    expect(await approvals.approve('r', { digest, by: 'cleo' })).toMatchObject({
      ...{ state: 'sent', decisions: [{ by: 'may' }, { by: 'cleo' }] },
    })
    const edit = approvals.approve('r', { digest, by: 'bob', body: { body_html: '<p>Other.</p>' } })
    expect(await rejection(edit)).toMatchObject({ name: 'ApprovalsError', state: 'sent', id: expect.any(String) })
    expect(await rejection(approvals.reject('r', { by: 'bob' }))).toMatchObject({ state: 'sent' })
    expect([await send(), sent()]).toEqual([[], [body_html]])
  })
})

describe('the last look', () => {
  test('ends a proposal as stale if anybody has written since, also during the wait for a 429', async () => {
    const { sandbox, conversation, approvals, send, sent, fail, approved } = open()
    await approved()
    fail({ status: 429, retryAfter: 3 })
    setTimeout(() => sandbox.receiveMessage(conversation, 'Cancel!'), 1_000)
    expect([await send(), sent()]).toEqual([['stale'], []])
    expect(await approvals.get('r')).toMatchObject({ state: 'stale', reason: expect.stringContaining('is newer') })
  })

  test('lets pass what was sent for the same basis, and what is ignored', async () => {
    const { sandbox, conversation, send, sent, approved } = open({
      ignore: (message) => message.body_html === 'Out of office',
    })
    const basis = sandbox.receiveMessage(conversation, 'Where is it?')
    for (const key of ['one', 'two']) {
      await approved(key, `<p>${key}</p>`, { basis })
      await vi.advanceTimersByTimeAsync(1_000)
    }
    sandbox.receiveMessage(conversation, 'Out of office')
    expect([await send(), sent()]).toEqual([
      ['sent', 'sent'],
      ['<p>one</p>', '<p>two</p>'],
    ])
  })

  test('knows what is older than a basis, but nothing of the same second', async () => {
    const { sandbox, conversation, propose, send, approved } = open()
    const basis = sandbox.receiveMessage(conversation, 'Where is it?')
    sandbox.receiveMessage(conversation, 'Forget it, cancel!')
    await approved('r', body_html, { basis })
    expect(await send()).toEqual(['stale'])
    expect(await propose(body_html, { basis: 'msg_gone', again: true })).toMatchObject({ state: 'stale' })
  })

  test('knows no message without a time, unless it is the basis', async () => {
    const { sandbox, conversation, create, propose, sent, start } = open()
    const timeless = sandbox.receiveMessage(conversation, 'Where is it?')
    await vi.advanceTimersByTimeAsync(1_000)
    const newest = sandbox.receiveMessage(conversation, 'Hello?')
    const withoutTime = (_: string, value: unknown) =>
      (value as { id?: unknown } | null)?.id === timeless ? { ...(value as object), inserted_at: null } : value
    const fetch = fetchOf(sandbox, async (response, _, { method }) => {
      const text = await response.text()
      return new Response(method === 'GET' ? JSON.stringify(JSON.parse(text, withoutTime)) : text, response)
    })
    const run = async (basis: string, options: Partial<ApprovalsOptions> = {}) => {
      const approvals = start({ fetch }, options)
      const { known, digest } = await approvals.propose(basis, create, { basis })
      await approvals.approve(basis, { digest, by: 'may' })
      return [known?.includes(timeless), (await Array.fromAsync(approvals.send())).map(({ state }) => state)]
    }
    expect(await run(newest)).toEqual([false, ['stale']])
    expect(await run(timeless, { ignore: ({ id }) => id !== timeless })).toEqual([true, ['sent']])
    expect((await propose(body_html, { basis: timeless })).known).toContain(timeless)
    expect(sent()).toEqual([body_html])
  })

  test('sends nothing that has expired', async () => {
    const { propose, approve, send, sent, start, fail, approved } = open()
    await approved('r', body_html, { expiresIn: 2_000 })
    fail({ status: 429, retryAfter: 3 })
    expect([await send(), sent()]).toEqual([['expired'], []])
    await propose(body_html, { expiresIn: 2_000, again: true })
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await rejection(approve())).toMatchObject({
      state: 'pending',
      message: expect.stringContaining('has expired'),
    })
    // Of two processes that see it, one says so.
    const both = [1, 2].map(() => send(start()))
    expect([(await Promise.all(both)).flat(), sent()]).toEqual([['expired'], []])
  })

  test('compares the person of the token at this attempt', async () => {
    const { sandbox, approved, send, sent, start } = open()
    for (const key of ['one', 'two']) await approved(key, undefined, { basis: null })
    const [mine, other] = [undefined, sandbox.state.members[1]?.id].map((member) =>
      sandbox.issueToken({ actor: 'self', ...(member && { member }) }),
    ) as [string, string]
    let asked = 0
    // The token of somebody else comes for a moment, after the identity was asked for. The second stays behind the first.
    const accessToken = () => (++asked === 3 || asked === 4 ? other : mine)
    expect([await send(start({ accessToken })), sent()]).toEqual([[], []])
  })
})

describe('a lost response', () => {
  test('is unconfirmed at once, and found by the next `send`', async () => {
    const { approvals, send, sent, fail, approved } = open()
    await approved()
    fail({ status: 503, effect: true })
    const start = performance.now()
    expect(await send()).toEqual(['unconfirmed'])
    expect(performance.now() - start).toBeLessThan(1_000)
    expect(await approvals.get('r')).toMatchObject({ state: 'sending' })
    expect(await rejection(approvals.reject('r', { by: 'bob' }))).toMatchObject({ state: 'sending' })
    expect([await send(), sent()]).toEqual([['sent'], [body_html]])
  })

  test('is not found in a message that the draft has read', async () => {
    const { sandbox, conversation, workspace, send, sent, fail, approved } = open()
    await workspace.messages.create(conversation, { body_html })
    sandbox.receiveMessage(conversation, 'And my second parcel?')
    await approved('r', body_html, { basis: sandbox.state.messages(conversation).map(({ id }) => id) })
    fail({ drop: 'before-effect' })
    expect([await send(), await send()]).toEqual([['unconfirmed'], ['unconfirmed']])
    expect(sent()).toEqual([body_html])
  })

  test('is not found in a message that the last look has let pass', async () => {
    const text = '<p>On it.</p>'
    const ignore: ApprovalsOptions['ignore'] = (message) => message.body_html === text
    const { conversation, workspace, sent, send, start, fail, approved } = open({ ignore })
    await approved('r', text)
    await workspace.messages.create(conversation, { body_html: text })
    fail({ drop: 'before-effect' })
    expect(await send()).toEqual(['unconfirmed'])
    // Another process has not looked itself.
    expect(await send(start({}, { ignore }))).toEqual(['unconfirmed'])
    expect(sent()).toEqual([text])
  })

  test('of a change is found, although the draft has read the message', async () => {
    const { sandbox, conversation, workspace, approvals, create, approve, send } = open()
    const { id } = await create(workspace)
    await approvals.propose('r', (client) => client.messages.update(conversation, id, { body_html: 'New' }))
    await approve()
    sandbox.faults.add({ method: 'PATCH', drop: 'after-effect' })
    expect([await send(), await send()]).toEqual([['unconfirmed'], ['sent']])
  })

  test('that a person finds absent waits for another approval', async () => {
    const { approvals, approve, send, sent, fail, approved } = open()
    await approved()
    fail({ status: 503 })
    expect([await send(), await send()]).toEqual([['unconfirmed'], ['unconfirmed']])
    expect(await approvals.resolve('r', 'absent')).toMatchObject({ state: 'pending' })
    expect(await send()).toEqual([])
    await approve()
    expect([await send(), sent()]).toEqual([['sent'], [body_html]])
    expect(await rejection(approvals.resolve('r', 'absent'))).toMatchObject({ state: 'sent', id: expect.any(String) })
  })

  test('that was not sent cannot be resolved, and the error names the step before', async () => {
    const { approvals, approve, propose } = open()
    await propose()
    expect(await rejection(approvals.resolve('r', 'applied'))).toMatchObject({
      message: expect.stringMatching(/is pending, so .* was not sent: `approve` and `send` it, or `reject` it\.$/),
      state: 'pending',
    })
    await approve()
    expect(await rejection(approvals.resolve('r', 'applied'))).toMatchObject({
      message: expect.stringMatching(/is approved \(.+\), so .* was not sent: `approve` and `send` it/),
    })
  })

  test('is not overtaken while the reply can still arrive', async () => {
    const { sandbox, approved, send, sent, start } = open()
    for (const key of ['one', 'two']) await approved(key)
    const arrives = Promise.withResolvers<void>()
    const fetch: WebFetch = async (url, init) => {
      if (init?.method !== 'POST') return sandbox.fetch(url, init as RequestInit)
      void arrives.promise.then(() => sandbox.fetch(url, { ...init, signal: null } as RequestInit))
      return new Response('', { status: 504 })
    }
    const late = start({ fetch })
    expect([await send(late), await send(late), sent()]).toEqual([['unconfirmed'], ['unconfirmed'], []])
    arrives.resolve()
    await vi.advanceTimersByTimeAsync(1_000)
    expect([await send(), sent()]).toEqual([
      ['sent', 'sent'],
      ['<p>one</p>', '<p>two</p>'],
    ])
  })

  test('that stays unconfirmed holds up its conversation for 150 seconds', async () => {
    const { approved, send, sent, fail } = open()
    for (const key of ['one', 'two']) await approved(key)
    fail({ status: 503 })
    expect([await send(), sent()]).toEqual([['unconfirmed'], []])
    await vi.advanceTimersByTimeAsync(140_000)
    expect([await send(), sent()]).toEqual([['unconfirmed'], []])
    await vi.advanceTimersByTimeAsync(11_000)
    expect([await send(), sent()]).toEqual([['unconfirmed', 'sent'], ['<p>two</p>']])
  })
})

describe('what is stored', () => {
  const decoded = (text: string) => Buffer.from(text.replace('plain:', ''), 'base64url').toString()
  const change = async (storage: ReturnType<typeof memoryStorage>, from: string, to: string) => {
    const text = String(await storage.get('approvals:open:r'))
    const json = decoded(text)
    expect(json).toContain(from)
    const edited = `plain:${Buffer.from(json.replace(from, to)).toString('base64url')}`
    await storage.compareAndSet('approvals:open:r', text, edited)
  }

  test.each([
    ['the text', 'On its way.', 'Pay here.'],
    ['the path', '"path":"/api/oauth/v1/conversations/', '"path":"/api/oauth/v1/conversations/../x/'],
    ['the query', '"query":{', '"query":{"notify":"all"'],
    ['the basis', '"known":[', '"known":["msg_other",'],
    ['the expiry', '"expiresAt":', '"expiresAt":9'],
    ['the operation', '"id":"messages.create"', '"id":"notes.create"'],
    ['the path of the operation', '{conversation_id}/messages', '{conversation_id}/notes'],
    ['a parameter', '"parameters":{"conversation_id":"', '"parameters":{"conversation_id":"other'],
    ['the message that it answers', '"answers":"', '"answers":"other'],
    ['the method', '"method":"POST"', '"method":"PATCH"'],
    ['the evidence', '"evidence":"', '"evidence":"x'],
    ['the service', '"service":"http', '"service":"https'],
  ])('is refused if %s was edited without the digest', async (_, from, to) => {
    const { storage, approvals, send, sent, approved } = open()
    await approved('r', body_html, { expiresIn: 60_000 })
    await change(storage, from, to)
    expect([await send(), sent()]).toEqual([['refused'], []])
    expect(await approvals.get('r')).toMatchObject({ reason: expect.stringContaining('is not what was approved') })
  })

  test.each([
    ['the author', /"author":"[^"]+"/],
    ['the organization', /"organization":"[^"]+"/],
  ])('is not sent if %s was edited', async (field, pattern) => {
    const { storage, send, sent, approved } = open()
    await approved()
    const [found = ''] = pattern.exec(decoded(String(await storage.get('approvals:open:r')))) ?? []
    await change(storage, found, `"${field.replace('the ', '')}":"other"`)
    expect([await send(), sent()]).toEqual([[], []])
  })

  test.each([
    ['whose text was edited', 'On its way.', 'Pay here.'],
    ['whose record is lost', '"write":', '"lost":'],
  ])('is not sent again, and told, if it is an unconfirmed one %s', async (_, from, to) => {
    const { storage, approvals, sent, fail, approved } = open()
    await approved()
    fail({ status: 503 })
    await Array.fromAsync(approvals.send())
    await change(storage, from, to)
    const [result] = await Array.fromAsync(approvals.send())
    expect(result).toMatchObject({ state: 'unconfirmed', error: { message: expect.stringContaining('is not what') } })
    expect(sent()).toEqual([])
  })

  test('is left alone by a client of another service', async () => {
    const { send, sent, start, approved } = open()
    await approved('r', body_html, { basis: null })
    expect([await send(start({ baseUrl: 'https://other.example' })), sent()]).toEqual([[], []])
    expect([await send(), sent()]).toEqual([['sent'], [body_html]])
  })

  test('is refused if its digest is of no version that is known', async () => {
    const { storage, send, sent, approved } = open()
    const { digest } = await approved()
    for (let count = 0; count < 2; count += 1) await change(storage, `"${digest}"`, '"v2:undefined"')
    await change(storage, 'On its way.', 'Pay here.')
    expect([await send(), sent()]).toEqual([['refused'], []])
  })

  describe('with a damaged entry', () => {
    const garbage = async (storage: ReturnType<typeof memoryStorage>, key: string) =>
      storage.compareAndSet(key, (await storage.get(key)) ?? null, 'garbage')

    test.each(['open', 'final'])('on the %s shelf holds up no other conversation', async (shelf) => {
      const { sandbox, storage, workspace, approvals, propose, sent } = open()
      const other = await workspace.conversations.list().toArray()
      expect(other).toHaveLength(1)
      for (const key of ['bad', 'good']) {
        const write = (client: SupportWorkspace<'self'>) =>
          key === 'bad'
            ? client.contacts.create({ email: 'a@example.com' })
            : client.messages.create(String(other[0]?.id), { body_html })
        const { digest } = await approvals.propose(key, write)
        await approvals.approve(key, { digest, by: 'may' })
      }
      await garbage(storage, `approvals:${shelf}:bad`)
      const states: string[] = []
      const error = await rejection(
        (async () => {
          for await (const { key, state } of approvals.send({ concurrency: 1 })) states.push(`${key} ${state}`)
        })(),
      )
      expect([states, sent()]).toEqual([['good sent'], [body_html]])
      expect(error).toMatchObject({
        name: 'ApprovalsError',
        key: 'bad',
        message: expect.stringContaining(`approvals:${shelf}:bad`),
      })
      expect(sandbox.state.writes).toHaveLength(1)
      await propose(body_html, {}, 'next')
      if (shelf === 'final') return
      expect(await rejection(approvals.list())).toMatchObject({ name: 'ApprovalsError', key: 'bad' })
      const told = await listedWithFailingCallbacks((options) => approvals.list(options))
      for (const each of told) expect(each).toMatchObject([[{ key: 'next' }], { name: 'ApprovalsError', key: 'bad' }])
    })

    test('goes on with what was approved later in the same conversation', async () => {
      const { storage, approvals, propose, sent, approved } = open()
      await propose(body_html, {}, 'bad')
      await approvals.reject('bad', { by: 'may' })
      for (const key of ['bad', 'good']) await approved(key, undefined, { again: true })
      await garbage(storage, 'approvals:final:bad')
      expect(await rejection(Array.fromAsync(approvals.send()))).toMatchObject({ name: 'ApprovalsError', key: 'bad' })
      expect(sent()).toEqual(['<p>good</p>'])
    })

    test.each([
      ['before-effect', 1, 'the service shows nothing like it'],
      ['after-effect', 2, 'the record of "bad" cannot be read, and may be about what the service shows'],
    ] as const)(
      'whose message a reply of the same text could be, leaves one unconfirmed that was lost %s',
      async (drop, count, problem) => {
        const { sandbox, conversation, storage, approvals, sent, fail, approved } = open()
        const basis = sandbox.state.messages(conversation).map(({ id }) => id)
        for (const key of ['bad', 'good']) {
          await approved(key, body_html, { basis })
          if (key === 'good') fail({ drop })
          await Array.fromAsync(approvals.send())
          if (key === 'bad') await garbage(storage, 'approvals:final:bad')
        }
        vi.setSystemTime(Date.now() + 200_000)
        const [{ state, error } = {}] = await Array.fromAsync(approvals.send())
        expect([state, sent()]).toEqual(['unconfirmed', Array(count).fill(body_html)])
        expect(error).toMatchObject({ name: 'UnconfirmedWriteError', message: expect.stringContaining(problem) })
      },
    )

    test('of what was sent tells which, and decides nothing', async () => {
      const { storage, approvals, propose, approve } = open()
      const { known } = await propose(body_html, {}, 'one')
      await propose('<p>Two.</p>', {}, 'two')
      await approve({}, 'one')
      await Array.fromAsync(approvals.send())
      const [note = ''] = (await Array.fromAsync(storage.list('approvals:sent:'))).flat().map(([key]) => key)
      await garbage(storage, note)
      await approve({}, 'two')
      const error = await rejection(Array.fromAsync(approvals.send()))
      expect(error).toMatchObject({ name: 'ApprovalsError', message: expect.stringContaining(note), remedy: 'fix' })
      expect(await approvals.get('two')).toMatchObject({ state: 'approved', known })
    })
  })

  test('is encrypted with a secret, for its key', async () => {
    // Encryption takes real time.
    vi.useRealTimers()
    const { storage, approvals, propose, approve, send, sent, start } = open({ secret })
    await propose()
    const text = String(await storage.get('approvals:open:r'))
    expect(text).not.toContain('On its way')
    await storage.compareAndSet('approvals:open:other', null, text)
    expect(await rejection(approvals.get('other'))).toMatchObject({ message: expect.stringContaining('another key') })
    await storage.compareAndSet('approvals:open:other', text, null)
    const rotated = start({}, { secret: ['another secret of thirty-two characters.', secret] })
    expect(await rotated.get('r')).toMatchObject({ state: 'pending' })
    expect(await rejection(start().get('r'))).toMatchObject({ name: 'ApprovalsError' })
    await approve()
    expect([await send(), sent()]).toEqual([['sent'], [body_html]])
  })

  test('is encrypted with a secret, also what was sent, so that nobody can add a message to it', async () => {
    vi.useRealTimers()
    const inner = memoryStorage()
    /** What somebody puts where a message would be noted. */
    let forge: (key: string) => string | undefined = () => undefined
    const get = async (key: string) => (await inner.get(key)) ?? (key.startsWith('approvals:sent:') ? forge(key) : null)
    const { sandbox, conversation, propose, approve, send, sent } = open({ secret, storage: { ...inner, get } })
    for (const key of ['one', 'two']) await propose(`<p>${key}</p>`, {}, key)
    await approve({}, 'one')
    expect(await send()).toEqual(['sent'])
    await approve({}, 'two')
    sandbox.receiveMessage(conversation, 'Stop!')
    const entries = (await Array.fromAsync(inner.list('approvals:'))).flat()
    const first = sandbox.state.writes[0]?.id
    for (const [, text] of entries) expect(text).not.toContain(String(first))
    const [, note = ''] = entries.find(([key]) => key.startsWith('approvals:sent:')) ?? []
    for (const forged of [() => note, (key: string) => encoded(key, { format: 1 }), () => 'garbage']) {
      forge = forged
      expect(await rejection(send())).toMatchObject({ name: 'ApprovalsError' })
    }
    forge = () => undefined
    expect([await send(), sent()]).toEqual([['stale'], ['<p>one</p>']])
  })

  test.each(['"format":2', '"state":"maybe"', '"author":5', '"epoch":-1'])('is refused with %s', async (field) => {
    const { storage, approvals, propose } = open()
    await propose()
    const [name] = field.split(':') as [string]
    const text = decoded(String(await storage.get('approvals:open:r')))
    const found = new RegExp(`${name}:("[^"]*"|\\d+)`).exec(text)?.[0] ?? ''
    await change(storage, found, field)
    const problem = /written by another version|damaged in its field/
    expect(await rejection(approvals.get('r'))).toMatchObject({ message: expect.stringMatching(problem) })
  })

  const digest = 'v1:2b9470d16b3d8fb80a9cdadf8ec495833095ae1ec0dfe329cc1c099a164b1005'
  /** What another version of the package has stored. It knows two more fields, one of which a person has approved. */
  const recorded = {
    ...{ format: 1, epoch: 1, state: 'approved', earlier: [], priority: 3 },
    digest,
    proposedAt: 1_772_323_200_000,
    decisions: [{ decision: 'approved', by: 'may', at: 1_772_323_200_000, digest, note: 'fine' }],
    content: {
      ...{ service: 'http://sandbox.localhost', organization: 'org_juniper-supplies', author: 'usr_60dfbca77361' },
      operation: {
        ...{ id: 'messages.create', method: 'POST', scope: 'messages:write', actor: 'self', evidence: 'reference' },
        path: '/api/oauth/v1/conversations/{conversation_id}/messages',
      },
      path: '/api/oauth/v1/conversations/cnv_d10cef40e10a/messages',
      parameters: { conversation_id: 'cnv_d10cef40e10a' },
      query: {},
      text: '{"zone":"eu","body_html":"<p>On its way.</p>"}',
      channel: 'chat',
    },
  }

  test('by another version with the same format is sent with the same bytes', async () => {
    const { sandbox, storage, start } = open()
    const bodies: unknown[] = []
    const fetch = fetchOf(sandbox, (response, _, { method, body }) => {
      if (method === 'POST') bodies.push(body)
      return response
    })
    const key = 'approvals:open:r'
    await storage.compareAndSet(key, null, encoded(key, recorded))
    const approvals = start({ fetch })
    expect(await Array.fromAsync(approvals.send())).toMatchObject([{ key: 'r', state: 'sent' }])
    expect(bodies).toEqual([recorded.content.text])
  })

  test('is forgotten without its texts, and is never sent again', async () => {
    const { storage, approvals, propose, send, sent, approved } = open()
    await propose()
    expect(await approvals.forget('r')).toBe(true)
    await propose('<p>Rejected.</p>')
    await approvals.reject('r', { by: 'bob' })
    await propose('<p>Anew.</p>', { again: true })
    expect([await approvals.forget('r'), await approvals.get('r')]).toMatchObject([true, { state: 'rejected' }])
    await approved('r', body_html, { again: true })
    await send()
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect([await approvals.forget(3_600_000), await approvals.forget(3_600_000)]).toEqual([1, 0])
    expect(decoded(String(await storage.get('approvals:final:r')))).not.toContain('On its way')
    expect(await propose(body_html, { again: true })).toMatchObject({ state: 'sent', id: expect.any(String) })
    expect([await send(), sent()]).toEqual([[], [body_html]])
  })

  test('has no key that a write journal on the same storage uses, and the other way round', async () => {
    const { storage, workspace, create, propose } = open()
    const journal = new WriteJournal({ workspace, storage })
    await journal.once('r', create)
    expect(await rejection(propose())).toMatchObject({ name: 'InvalidArgumentError', argument: 'key' })
    await propose(body_html, {}, 'other')
    expect(await rejection(journal.once('other', create))).toMatchObject({
      name: 'InvalidArgumentError',
      argument: 'key',
    })
  })
})

describe('a write journal on the same storage', () => {
  // Encryption takes real time.
  beforeEach(() => void vi.useRealTimers().useFakeTimers({ toFake: ['Date'] }))

  /** A journal and approvals that send the same text. */
  function openBoth(options: Partial<ApprovalsOptions> = {}) {
    const world = open(options)
    const { storage, workspace, create, approvals, propose, approve, send, fail } = world
    const journal = new WriteJournal({ workspace, storage, confirmTimeout: 10 })
    const once = () => journal.once('j', create)
    const sendApproved = async () => {
      if ((await approvals.get('a')) === undefined) {
        await propose(body_html, { basis: null }, 'a')
        await approve({}, 'a')
      }
      return send()
    }
    const lose = () => fail({ drop: 'before-effect' })
    return { ...world, journal, once, sendApproved, lose }
  }

  test.each([
    [undefined, 'absent'],
    [secret, 'unreadable'],
  ])('takes no reply of the approvals for its own (secret: %s)', async (secret, reason) => {
    const { once, sendApproved, lose, sent } = openBoth({ secret })
    lose()
    await rejection(once())
    expect(await sendApproved()).toEqual(['sent'])
    expect(await rejection(once())).toMatchObject({ name: 'UnconfirmedWriteError', reason })
    expect(sent()).toEqual([body_html])
  })

  test('is not where approvals find their reply', async () => {
    const { once, sendApproved, lose, sent } = openBoth()
    lose()
    expect(await sendApproved()).toEqual(['unconfirmed'])
    await once()
    expect([await sendApproved(), sent()]).toEqual([['unconfirmed'], [body_html]])
  })

  test.each([undefined, secret])('keeps what an unconfirmed reply could be taken for (secret: %s)', async (secret) => {
    const { workspace, storage, approvals, once, sendApproved, lose } = openBoth({ secret })
    lose()
    await sendApproved()
    await once()
    vi.setSystemTime(Date.now() + 4_000_000)
    const journal = new WriteJournal({ workspace, storage })
    expect([await journal.forget(3_600_000), await sendApproved()]).toEqual([0, ['unconfirmed']])
    await approvals.resolve('a', 'applied')
    expect(await journal.forget(3_600_000)).toBe(secret === undefined ? 1 : 0)
  })
})

test('what was sent is not taken for a lost reply of the same text, also after its text was forgotten', async () => {
  const { approvals, approved, send, sent, fail } = open()
  for (const key of ['lost', 'sent']) await approved(key, body_html)
  fail({ drop: 'before-effect' })
  expect(await send()).toEqual(['unconfirmed'])
  await vi.advanceTimersByTimeAsync(151_000)
  expect(await send()).toEqual(['unconfirmed', 'sent'])
  await vi.advanceTimersByTimeAsync(3_600_000)
  expect(await approvals.forget(3_600_000)).toBe(1)
  expect([await send(), sent()]).toEqual([['unconfirmed'], [body_html]])
})

test('`send` writes to several conversations at the same time, and to one in the order of approval', async () => {
  const sandbox = createSandbox({ conversations: 3, now: Date.now })
  const [conversations, open, sent] = [
    sandbox.state.conversations.map(({ id }) => id),
    new Set<string>(),
    [] as string[],
  ]
  let most = 0
  const workspace = clientOf(sandbox, {
    fetch: async (url, init) => {
      const { pathname } = new URL(String(url))
      if (init?.method !== 'POST') return sandbox.fetch(url, init)
      expect(open).not.toContain(pathname)
      open.add(pathname)
      most = Math.max(most, open.size)
      await new Promise((resolve) => setTimeout(resolve, 100))
      sent.push(JSON.parse(String(init.body)).body_html)
      open.delete(pathname)
      return sandbox.fetch(url, init)
    },
  })
  for (const concurrency of [2, 1]) {
    const approvals = new Approvals({ workspace, storage: memoryStorage() })
    for (const number of [2, 1]) {
      for (const id of conversations) {
        const body = { body_html: `${id} ${number}` }
        const key = `${id}:${number}`
        const { digest } = await approvals.propose(key, (client) => client.messages.create(id, body), { basis: null })
        await approvals.approve(key, { digest, by: 'may' })
        await vi.advanceTimersByTimeAsync(10)
      }
    }
    await Array.fromAsync(approvals.send({ concurrency }))
    expect(most).toBe(concurrency)
    for (const id of conversations) expect(sent.filter((text) => text.startsWith(id))).toEqual([`${id} 2`, `${id} 1`])
    most = 0
    sent.length = 0
  }
})

test.each<[string, { ahead?: number; takes?: number; timeout?: number }]>([
  ['another `send`', {}],
  ['another process', {}],
  ['another process, with a clock that is ahead of the service', { ahead: 200_000 }],
  ['another process, with a clock that is behind the service', { ahead: -200_000 }],
  ['another process, with a longer time limit', { takes: 170_000, timeout: 2_000_000 }],
])(
  'what was approved later does not overtake a reply that is being sent by %s',
  async (who, { ahead = 0, takes = 1_000, timeout = 30_000 }) => {
    const { sandbox, approvals, approved, send, sent, start } = open({}, { now: () => Date.now() - ahead })
    for (const key of ['one', 'two']) await approved(key)
    const slow = start({
      ...{ timeout, totalTimeout: timeout * 2 },
      fetch: async (url, init) => {
        if (init?.method === 'POST') await new Promise((resolve) => setTimeout(resolve, takes))
        return sandbox.fetch(url, init)
      },
    })
    const sending = send(slow)
    while ((await approvals.get('one'))?.state !== 'sending') await vi.advanceTimersByTimeAsync(1)
    await vi.advanceTimersByTimeAsync(takes - 500)
    expect(await send(who === 'another `send`' ? slow : approvals)).toEqual([])
    expect(await sending).toEqual(['sent', 'sent'])
    expect(sent()).toEqual(['<p>one</p>', '<p>two</p>'])
  },
)

describe('a reply that another process begins to send after this one has read it as approved', () => {
  /** Two processes: this one stops at a step after it has read what is due, and the other one before it sends it. */
  async function openTwo(isHeld: (step: string) => boolean, options: ProposeOptions = {}) {
    const world = open()
    await world.approved('one', body_html, options)
    await world.approved('two', undefined, { basis: null })
    // The same text from somebody else, which both let pass.
    await world.workspace.messages.create(world.conversation, { body_html })
    const startHeld = async (isHeld: (step: string) => boolean) => {
      const [reached, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const stopAt = async (step: string) => {
        if (!isHeld(step)) return
        reached.resolve()
        await goesOn.promise
      }
      const get = async (key: string) => {
        const text = await world.storage.get(key)
        await stopAt(`get ${key}`)
        return text
      }
      const fetch: WebFetch = async (url, init) => {
        await stopAt(`${init.method} ${url}`)
        return world.sandbox.fetch(url, init as RequestInit)
      }
      const noLimit = { timeout: Number.POSITIVE_INFINITY, totalTimeout: Number.POSITIVE_INFINITY, maxRetries: 0 }
      const ignore: ApprovalsOptions['ignore'] = (message) => message.body_html === body_html
      const results = world.send(world.start({ ...noLimit, fetch }, { ignore, storage: { ...world.storage, get } }))
      await reached.promise
      return { results: () => results, goOn: () => goesOn.resolve() }
    }
    const own = await startHeld(isHeld)
    return { ...world, own, other: await startHeld((step) => step.startsWith('POST')) }
  }

  test.each(['is still being sent', 'has lost its response'])('is left to it while it %s', async (state) => {
    let asked = 0
    // The first question is which proposals are those of this token.
    const { approvals, fail, own, other } = await openTwo((step) => step.endsWith('/me') && ++asked === 2)
    fail({ drop: 'before-effect' })
    if (state === 'has lost its response') {
      other.goOn()
      expect(await other.results()).toEqual(['unconfirmed'])
    }
    own.goOn()
    expect(await own.results()).toEqual([])
    other.goOn()
    expect(await other.results()).toEqual(['unconfirmed'])
    expect(await approvals.get('one')).toMatchObject({ state: 'sending' })
  })

  const fault = { method: 'GET', path: /messages$/ }
  const look = /GET .*messages/

  test.each<[string, RegExp, (world: ReturnType<typeof open>) => unknown]>([
    ['is limited', look, ({ sandbox }) => sandbox.faults.add({ ...fault, status: 429 })],
    ['fails', look, ({ sandbox }) => sandbox.faults.add({ ...fault, status: 503 })],
    ['sees a new message', look, ({ sandbox, conversation }) => sandbox.receiveMessage(conversation, 'Cancel!')],
    ['is too late', /get approvals:final:one/, () => vi.setSystemTime(Date.now() + 61_000)],
  ])('is not overtaken if the last look of this one %s', async (_, held, change) => {
    const world = await openTwo((step) => held.test(step), { expiresIn: 60_000 })
    const { own, other, sent } = world
    change(world)
    own.goOn()
    expect(await own.results()).toEqual([])
    other.goOn()
    expect([await other.results(), sent()]).toEqual([
      ['sent', 'sent'],
      [body_html, body_html, '<p>two</p>'],
    ])
  })
})

test('an unconfirmed reply counts as lost after an hour, also without a time limit', async () => {
  const { sandbox, approvals, approved, send, sent, start } = open()
  await approved()
  const hanging: Partial<ClientOptions<'self'>> = {
    ...{ timeout: Number.POSITIVE_INFINITY, totalTimeout: Number.POSITIVE_INFINITY },
    fetch: (url, init) => (init?.method === 'POST' ? new Promise(() => {}) : sandbox.fetch(url, init as RequestInit)),
  }
  void send(start(hanging))
  while ((await approvals.get('r'))?.state !== 'sending') await vi.advanceTimersByTimeAsync(1)
  await vi.advanceTimersByTimeAsync(3_590_000)
  expect(await send(start(hanging))).toEqual([])
  await vi.advanceTimersByTimeAsync(20_000)
  expect([await send(start(hanging)), sent()]).toEqual([['unconfirmed'], []])
})

test('what is approved anew after it was found absent is sent in the order of that approval', async () => {
  const { approvals, approved, approve, send, sent, fail } = open()
  await approved()
  fail({ drop: 'before-effect' })
  expect(await send()).toEqual(['unconfirmed'])
  await approvals.resolve('r', 'absent')
  await approved('second')
  await approve()
  // Another person who approves the same changes no order.
  const second = await approvals.get('second')
  await vi.advanceTimersByTimeAsync(10)
  await approvals.approve('second', { digest: second?.digest ?? '', by: 'cleo' })
  await send()
  expect(sent()).toEqual(['<p>second</p>', body_html])
})

test('what was approved in the same millisecond is sent in the order of approval', async () => {
  const { propose, approve, send, sent } = open()
  const keys = ['a', 'b', 'c']
  for (const key of keys) await propose(`<p>${key}</p>`, { basis: null }, key)
  const now = Date.now()
  for (const key of keys.toReversed()) await approve({}, key)
  expect(Date.now()).toBe(now)
  await send()
  expect(sent()).toEqual(['<p>c</p>', '<p>b</p>', '<p>a</p>'])
})

test('what an earlier version has approved is sent in the order of approval', async () => {
  const { storage, propose, approved, send, sent } = open()
  const keys = ['b', 'c', 'a']
  for (const key of keys.toSorted()) await propose(`<p>${key}</p>`, { basis: null }, key)
  for (const key of keys) await approved(key)
  for (const key of keys) {
    const name = `approvals:open:${key}`
    const text = String(await storage.get(name))
    const { approvedAt, ...earlier } = contentOf(text)
    await storage.compareAndSet(name, text, encoded(name, earlier))
  }
  await send()
  expect(sent()).toEqual(keys.map((key) => `<p>${key}</p>`))
})

test('a reply in a conversation that was removed is refused', async () => {
  const { sandbox, approved, send, sent } = open()
  await approved('r', body_html, { basis: [] })
  sandbox.faults.add({ method: 'GET', path: /messages$/, status: 404, times: Number.POSITIVE_INFINITY })
  expect([await send(), sent()]).toEqual([['refused'], []])
})

test.each<[string, () => Response]>([
  ['rejects a cursor', () => Response.json({ error: 'invalid_cursor' }, { status: 400 })],
  ['has dropped a cursor', () => Response.json({ error: 'gone' }, { status: 410 })],
  ['cannot process a cursor', () => Response.json({ error: 'invalid_cursor' }, { status: 422 })],
  ['answers without a list', () => Response.json({})],
])('a service that %s during the last look has not refused the reply', async (_, answer) => {
  const { sandbox, approvals, approved, send, sent, start } = open({}, { messagesPerConversation: 150 })
  await approved('r', body_html, {
    basis: sandbox.state.messages(sandbox.state.conversations[0]?.id ?? '').map(({ id }) => id),
  })
  const fetch = fetchOf(sandbox, (response, url) => (new URL(url).searchParams.has('after') ? answer() : response))
  const failing = start({ fetch })
  expect([await send(failing), sent()]).toEqual([['postponed'], []])
  expect(await approvals.get('r')).toMatchObject({ state: 'approved' })
  expect([await send(), sent()]).toEqual([['sent'], [body_html]])
})

test.each<[string, () => unknown]>([
  [
    'throws an error of this package',
    () => Promise.reject(new SupportWorkspaceError('Locked.', { hint: 'Unlock it.' })),
  ],
  ['returns nothing', () => undefined],
  ['returns an empty text', () => ''],
])('a token provider that %s for a moment has not refused the reply', async (_, token) => {
  // It is asked before the list of what is due, the identity of the sender, and the write.
  for (const failing of [1, 2, 3]) {
    const { sandbox, approved, send, sent, start } = open()
    await approved('r', body_html, { basis: null })
    const mine = sandbox.issueToken({ actor: 'self' })
    let asked = 0
    const accessToken = () => (++asked === failing ? token() : mine) as string
    await send(start({ accessToken })).catch(() => {})
    expect(asked).toBe(failing)
    await send()
    expect(sent(), `time ${failing}`).toEqual([body_html])
  }
})

const nobody = { remedy: 'retry', message: expect.stringContaining('whose the token is') }
const anywhere = { remedy: 'fix', message: expect.stringContaining('does not tell the organization of the token') }

test.each<[string, object, first?: object]>([
  ['no organization', { organization: undefined }, anywhere],
  ['no person', { user: null }, nobody],
  ['an id of the person that is none', { user: { id: 5 } }, nobody],
  ['another person', { user: { id: 'usr_other' } }],
  ['another organization', { organization: { id: 'org_other' } }],
])('an answer about the token with %s, for once, leaves the reply to a later `send`', async (_, odd, first) => {
  // The approvals ask, and then their journal.
  for (const nth of [1, 2]) {
    const { sandbox, approved, send, sent, start } = open()
    await approved('r', body_html, { basis: null })
    let asked = 0
    const approvals = start({ fetch: fetchWithMe(sandbox, odd, () => ++asked === nth) })
    const problem = nth === 1 ? first : undefined
    const result = await send(approvals).catch((error: unknown) => error)
    if (problem !== undefined) expect(result).toMatchObject(problem)
    await vi.advanceTimersByTimeAsync(problem === undefined ? 300_001 : 1)
    await send(approvals)
    expect(sent()).toEqual([body_html])
  }
})

test.each<[string, unknown]>([
  ['null', null],
  ['an item without an id', {}],
  ['an item whose id is a number', { id: 5 }],
  ['an item whose id is empty', { id: '' }],
])('a list that has %s postpones the reply, and is no basis', async (_, item) => {
  const { sandbox, conversation, create, propose, approved, approvals, send, sent, start } = open()
  await approved()
  const fetch = fetchOf(sandbox, async (response, url) => {
    if (!url.includes('/messages')) return response
    const { data, ...rest } = await response.json()
    return Response.json({ data: [item, ...data], ...rest })
  })
  const odd = start({ fetch }, { ignore: () => true })
  const results = await Array.fromAsync(odd.send())
  const error = { name: 'SupportWorkspaceError', message: expect.stringContaining('without a valid `id`') }
  expect([results, sent()]).toMatchObject([[{ state: 'postponed', error }], []])
  const newest = sandbox.state.messages(conversation)[0]?.id
  for (const basis of [undefined, newest]) {
    expect(await rejection(odd.propose('next', create, { basis }))).toMatchObject(error)
  }
  expect(await approvals.get('next')).toBeUndefined()
  await propose(body_html, {}, 'next')
  expect([await send(), sent()]).toEqual([['sent'], [body_html]])
})

test.each<[string, () => unknown, string]>([
  ...failingCallbacks(new Error('no log')).map(([title, fail]) => {
    return [title, fail, title === 'throws' ? 'has thrown' : 'has returned a promise'] as [
      string,
      () => unknown,
      string,
    ]
  }),
  ['answers later', async () => true, 'has returned a promise'],
])('an `ignore` that %s postpones its own conversation', async (_, ignore, problem) => {
  const { sandbox, approvals, approve, start } = open({ ignore: ignore as () => boolean }, { conversations: 2 })
  const [one = '', two = ''] = sandbox.state.conversations.map(({ id }) => id)
  for (const [key, id] of [
    ['one', one],
    ['later', one],
    ['two', two],
  ] as const) {
    const basis = key === 'later' ? null : undefined
    await approvals.propose(key, (client) => client.messages.create(id, { body_html }), { basis })
    await approve({}, key)
    await vi.advanceTimersByTimeAsync(10)
  }
  await vi.advanceTimersByTimeAsync(1_000)
  sandbox.receiveMessage(one, 'An automatic reply.')
  const results: SendResult[] = []
  const unhandled = await unhandledDuring(async () => {
    for await (const result of approvals.send({ concurrency: 1 })) results.push(result)
  })
  expect([results, unhandled]).toMatchObject([
    [
      { key: 'one', state: 'postponed', error: { message: expect.stringContaining(`\`ignore\` option ${problem}`) } },
      { key: 'two', state: 'sent' },
    ],
    [],
  ])
  const fixed = start({}, { ignore: () => true })
  expect(await Array.fromAsync(fixed.send())).toMatchObject([
    { key: 'one', state: 'sent' },
    { key: 'later', state: 'sent' },
  ])
})

describe('a storage that fails for a moment', () => {
  test.each([
    ['before', 1],
    ['after', 1],
    ['before', 2],
    ['after', 2],
  ] as const)('%s %i of its steps loses and hides no reply', async (when, length) => {
    let steps = 0
    for (let failing = 1; failing === 1 || failing <= steps; failing += 1) {
      const { storage, workspace, approved, sent, start } = open()
      await approved('r', body_html, { basis: null })
      steps = 0
      const around = async <Value>(run: () => Promise<Value> | Value): Promise<Value> => {
        steps += 1
        const isFailing = steps >= failing && steps < failing + length
        if (isFailing && when === 'before') throw new Error('connection reset')
        const value = await run()
        if (isFailing) throw new Error('connection reset')
        return value
      }
      const flaky: KeyValueStorage = {
        get: (key) => around(() => storage.get(key)),
        compareAndSet: (...args) => around(() => storage.compareAndSet(...args)),
        async *list(prefix) {
          await around(() => {})
          yield* storage.list(prefix)
        },
      }
      const told: string[] = []
      for (let runs = 0; runs < 3; runs += 1) {
        try {
          for await (const { state } of new Approvals({ workspace, storage: flaky }).send()) told.push(state)
        } catch (thrown) {
          told.push(String(thrown))
        }
        await vi.advanceTimersByTimeAsync(200_000)
      }
      const step = `step ${failing}: ${told}`
      expect(sent(), step).toEqual([body_html])
      expect(
        told.filter((each) => each === 'sent' || each.startsWith('ApprovalsError')),
        step,
      ).not.toEqual([])
      expect(await start().list(), step).toEqual([])
      expect(await start().list({ state: 'sent' }), step).toHaveLength(1)
    }
    expect(steps).toBeGreaterThan(10)
  })
})

describe('a conversation with many pages', () => {
  /** A service that lists slowly, and in another order if wanted. */
  async function openLong({ oldestFirst = false, arrivesAt = 0, isOfOneTime = false } = {}) {
    const world = open({}, { messagesPerConversation: 350 })
    const { sandbox, conversation } = world
    let pages = 0
    const fetch = fetchOf(sandbox, async (response, url, { method }) => {
      if (method !== 'GET' || !url.includes('/messages')) return response
      const { searchParams } = new URL(url)
      await new Promise((resolve) => setTimeout(resolve, 400))
      pages += 1
      const all = sandbox.state.messages(conversation)
      const start = Number(searchParams.get('after') ?? 0)
      const end = start + Number(searchParams.get('limit') ?? 20)
      const inserted_at = all.at(-1)?.inserted_at
      const data = (oldestFirst ? all.toReversed() : all)
        .slice(start, end)
        .map((message) => (isOfOneTime ? { ...message, inserted_at } : message))
      if (pages === arrivesAt) sandbox.receiveMessage(conversation, 'Cancel!')
      return Response.json({ data, page_metadata: { after: end < all.length ? String(end) : null, before: null } })
    })
    await world.approved('r', body_html, { basis: sandbox.state.messages(conversation).map(({ id }) => id) })
    return { ...world, send: () => world.send(world.start({ fetch })), pagesRead: () => pages }
  }

  test('is read whole, and then only its first page, so that nothing that was read is too old', async () => {
    const { send, sent, pagesRead } = await openLong()
    expect([await send(), sent(), pagesRead()]).toEqual([['sent'], [body_html], 4 + 1])
  })

  test.each<[string, boolean, number, boolean?]>([
    ['after the first page was read', false, 1],
    ['while the whole is read', false, 3],
    ['at the end of a list that begins with the oldest', true, 4],
    ['at the end of such a list, whose messages are all of one second', true, 4, true],
  ])('has a new message %s', async (_, oldestFirst, arrivesAt, isOfOneTime = false) => {
    const { send, sent } = await openLong({ oldestFirst, arrivesAt, isOfOneTime })
    expect([await send(), sent()]).toEqual([['stale'], []])
  })
})

test.each([undefined, 'the id of a message'])(
  'a service that rejects `limit` is asked without it (basis: %s)',
  async (basis) => {
    const { sandbox, conversation, create, start } = open()
    const fetch = fetchOf(sandbox, (response, url) =>
      new URL(url).searchParams.has('limit') ? Response.json({ error: 'invalid_request' }, { status: 400 }) : response,
    )
    const approvals = start({ fetch })
    const newest = sandbox.state.messages(conversation)[0]?.id
    const { digest } = await approvals.propose('r', create, { basis: basis && newest })
    await approvals.approve('r', { digest, by: 'may' })
    expect(await Array.fromAsync(approvals.send())).toMatchObject([{ state: 'sent' }])
  },
)

test.each([
  ['begun anew', async () => {}],
  ['begun anew, erased and proposed', (approvals: Approvals) => approvals.forget('r')],
])('a proposal that was %s stays, although another process is still moving the one before', async (_, change) => {
  const { approvals, storage, workspace, propose, approve, send, sent } = open()
  await propose()
  const moves = Promise.withResolvers<void>()
  const reaches = Promise.withResolvers<void>()
  const slowStorage: KeyValueStorage = {
    ...storage,
    async compareAndSet(key, ...values) {
      if (key.startsWith('approvals:final:')) {
        reaches.resolve()
        await moves.promise
      }
      return storage.compareAndSet(key, ...values)
    },
  }
  const slow = new Approvals({ workspace, storage: slowStorage })
  const rejected = slow.reject('r', { by: 'bob' })
  await reaches.promise
  await propose('<p>First.</p>', { again: true })
  await change(approvals)
  await propose('<p>Anew.</p>', { again: true, replace: true })
  await approve()
  moves.resolve()
  await rejected
  expect(await approvals.list()).toMatchObject([{ key: 'r', state: 'approved' }])
  expect([await send(), sent()]).toEqual([['sent'], ['<p>Anew.</p>']])
})

test('a signal ends `send`, and leaving the loop waits for what is under way', async () => {
  const { approvals, approved, send, sent } = open()
  for (const key of ['one', 'two', 'three']) await approved(key)
  const reason = new Error('The worker stops.')
  const stopped = AbortSignal.abort(reason)
  expect(await rejection(Array.fromAsync(approvals.send({ signal: stopped })))).toBe(reason)
  for await (const { state } of approvals.send()) {
    expect(state).toBe('sent')
    break
  }
  const count = sent().length
  await send()
  expect([count < 3, sent()]).toEqual([true, ['<p>one</p>', '<p>two</p>', '<p>three</p>']])
})

test('what lacks a scope of its own operation holds up no other conversation', async () => {
  const { approvals, approved, sandbox, send, sent, start } = open()
  const accessToken = sandbox.issueToken({
    actor: 'self',
    scopes: ['conversations:read', 'messages:read', 'messages:write'],
  })
  const narrow = start({ accessToken })
  const add = (client: SupportWorkspace<'self'>) => client.contacts.create({ email: 'ada@example.org' })
  const { digest } = await approvals.propose('contact', add)
  await approvals.approve('contact', { digest, by: 'may' })
  await vi.advanceTimersByTimeAsync(10)
  await approved()
  expect([(await send(narrow)).sort(), sent()]).toEqual([['postponed', 'sent'], [body_html]])
  // After a login with the scope, it is sent.
  expect([await send(), sandbox.state.writes.length]).toEqual([['sent'], 2])
})
