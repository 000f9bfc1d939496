// Two workers and the page of the reply desk, each killed at random moments, while customers and colleagues write, a person
// approves, edits and rejects, and the service answers with 429 and loses responses.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SupportWorkspace, textToHtml } from 'support-workspace-sdk'
import { Approvals, type Proposal } from 'support-workspace-sdk/approvals'
import { type RecordedRequest, type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isAutomatic } from '../../examples/reply-desk/desk.ts'
import { moduleFor, open } from '../../test/connections/helpers/open-storage.ts'
import { describeOnPostgres, describeOnSqlite } from '../../test/fleet/helpers/databases.ts'
import { freePort } from '../../test/helpers/free-port.ts'
import { Random } from '../../test/helpers/random.ts'
import { isFull } from '../is-full.ts'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const milliseconds = isFull ? 120_000 : 12_000
const secret = 'a secret of 32 characters or more'
/** How old a message can be that a reply crosses: a second of the last look, and the way of the reply. */
const longestCrossing = 3_000

/** A process that is started again whenever it ends. */
class Supervised {
  kills = 0
  #child: ChildProcess | undefined
  #isStopped = false
  readonly #ended: Promise<void>

  constructor(name: string, env: NodeJS.ProcessEnv) {
    this.#ended = this.#run(path(`examples/reply-desk/${name}`), env)
  }

  async #run(program: string, env: NodeJS.ProcessEnv): Promise<void> {
    while (!this.#isStopped) {
      this.#child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'ignore', 'inherit'] })
      await once(this.#child, 'exit')
    }
  }

  kill(): void {
    this.kills += 1
    this.#child?.kill('SIGKILL')
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#child?.kill('SIGTERM')
    await this.#ended
  }
}

/** A person at the page. What the page does not answer, because it was killed, the person does again. */
class Person {
  /** The texts that the person wanted to send, by key. */
  readonly approved = new Map<string, Set<string>>()
  readonly #url: string
  readonly #random: Random
  #cookie = ''

  constructor(url: string, random: Random) {
    this.#url = url
    this.#random = random
  }

  async logIn(): Promise<void> {
    const start = await this.#get('/login')
    const consent = await fetch(`${start.headers.get('location')}&auto=allow&role=admin`, { redirect: 'manual' })
    const [login = ''] = (start.headers.get('set-cookie') ?? '').split(';')
    const { pathname, search } = new URL(consent.headers.get('location') ?? '')
    const end = await this.#get(pathname + search, login)
    const cookies = end.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '')
    this.#cookie = cookies.find((cookie) => cookie.startsWith('reply_desk=')) ?? ''
  }

  /** Answers each draft that the page shows. */
  async work(): Promise<void> {
    const page = await (await this.#get('/')).text()
    for (const article of page.split('<article>').slice(1)) {
      const find = (pattern: RegExp) => unescaped(pattern.exec(article)?.[1] ?? '')
      if (find(/class="state">(\w+)/) !== 'pending') continue
      const [key, digest] = [find(/name="key" value="([^"]*)"/), find(/name="digest" value="([^"]*)"/)]
      const draft = find(/<textarea[^>]*>\n([^<]*)</)
      const chance = this.#random.next()
      const text = chance < 0.3 ? `${draft}\nEdited ${Math.floor(chance * 1e6)}.` : draft
      const step = chance > 0.95 ? 'reject' : 'approve'
      if (step === 'approve') {
        const texts = this.approved.get(key) ?? new Set()
        this.approved.set(key, texts.add(textToHtml(text)))
      }
      // A browser sends the lines of a textarea with CRLF.
      const body = new URLSearchParams({ key, digest, step, text: text.replaceAll('\n', '\r\n') })
      const headers = { cookie: this.#cookie, origin: this.#url }
      const response = await fetch(`${this.#url}/decide`, { method: 'POST', body, headers, redirect: 'manual' })
      expect([303, 409]).toContain(response.status)
    }
  }

  #get(where: string, cookie = this.#cookie): Promise<Response> {
    return fetch(this.#url + where, { headers: { cookie }, redirect: 'manual' })
  }
}

function unescaped(text: string): string {
  const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' }
  return text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity)
}

/** Repeats what fails while the page or the worker starts again. */
async function untilDone(task: () => Promise<void>): Promise<void> {
  await vi.waitFor(task, { timeout: 60_000, interval: 100 })
}

/** Lets customers and colleagues write. Returns what they have written. */
async function write(sandbox: Sandbox, random: Random, signal: AbortSignal) {
  const foreign = new Map<string, { conversation: string; at: number; isQuestion: boolean }>()
  for (let count = 1; !signal.aborted; count += 1) {
    const conversation = random.pick(sandbox.state.conversations).id
    const isQuestion = random.next() < 0.8
    const at = Date.now()
    const id = isQuestion
      ? sandbox.receiveMessage(conversation, `<p>Question ${count}: is it <b>you</b> &amp; me?</p>`)
      : sandbox.answer(conversation, `<p>Answer ${count} of a colleague.</p>`, { member: sandbox.state.members[1]?.id })
    foreign.set(id, { conversation, at, isQuestion })
    await setTimeout(random.next() * 800, undefined, { signal }).catch(() => {})
  }
  return foreign
}

async function prove(storage: Awaited<ReturnType<typeof open>>, variables: NodeJS.ProcessEnv): Promise<void> {
  const random = new Random(seed)
  const posts: RecordedRequest[] = []
  const onRequest = (request: RecordedRequest) => void (request.operation === 'createMessage' && posts.push(request))
  const sandbox = await startSandbox({ conversations: 12, messagesPerConversation: 2, onRequest })
  onTestFinished(() => sandbox.close())
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  sandbox.registerRedirectUri(`${url}/login/callback`)
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const env = {
    ...process.env,
    ...variables,
    SUPPORT_WORKSPACE_URL: sandbox.url,
    SUPPORT_WORKSPACE_TOKEN: accessToken,
    ...{ DESK_SECRET: secret, DESK_SECONDS: '1', PORT: String(port) },
    ...{ CLIENT_ID: sandbox.app.clientId, CLIENT_SECRET: sandbox.app.clientSecret },
  }
  const processes = ['worker.ts', 'worker.ts', 'server.ts'].map((name) => new Supervised(name, env))
  onTestFinished(async () => void (await Promise.all(processes.map((each) => each.stop()))))
  const person = new Person(url, random)
  await untilDone(() => person.logIn())
  // The first pass of the feed reads what is old.
  await vi.waitFor(() => expect(sandbox.requests.some(({ path }) => path.endsWith('/messages'))).toBe(true), 60_000)

  const faults = [
    { status: 429, retryAfter: 1, probability: 0.08 },
    { drop: 'before-effect', probability: 0.03 },
    { drop: 'after-effect', probability: 0.06 },
    { drop: 'before-effect', lateEffect: 2_000, probability: 0.03 },
    { status: 503, effect: true, probability: 0.04 },
  ] as const
  faults.forEach((fault, number) => {
    sandbox.faults.add({
      ...fault,
      method: 'POST',
      path: '/messages',
      times: Number.POSITIVE_INFINITY,
      seed: seed + number,
    })
  })
  sandbox.faults.add({
    status: 429,
    retryAfter: 1,
    probability: 0.02,
    method: 'GET',
    times: Number.POSITIVE_INFINITY,
    seed,
  })

  const signal = AbortSignal.timeout(milliseconds)
  const kill = async () => {
    while (!signal.aborted) {
      await setTimeout(1_500 + random.next() * 3_000, undefined, { signal }).catch(() => {})
      random.pick(processes).kill()
    }
  }
  const work = async () => {
    while (!signal.aborted) {
      await setTimeout(300, undefined, { signal }).catch(() => {})
      await untilDone(() => person.work())
    }
  }
  const [foreign] = await Promise.all([write(sandbox, random, signal), kill(), work()])

  // Everything heals. What is still unconfirmed is for the person, who looks whether it is there.
  sandbox.faults.clear()
  const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, actor: 'self' })
  const approvals = new Approvals({ workspace, storage, secret, ignore: isAutomatic })
  let resolved = 0
  let calm = 0
  const deadline = Date.now() + 120_000
  while (calm < 8 && Date.now() < deadline) {
    await setTimeout(1_000)
    await untilDone(() => person.work())
    const waiting = await approvals.list()
    const unconfirmed = waiting.filter(({ state }) => state === 'sending')
    // Later replies of its conversation wait for it, for 150 seconds.
    const isHeld = ({ conversationId }: Proposal) => unconfirmed.some((each) => each.conversationId === conversationId)
    calm = waiting.every(isHeld) ? calm + 1 : 0
    if (calm !== 6) continue
    for (const { key, body, conversationId = '' } of unconfirmed) {
      const { body_html } = body as { body_html: string }
      const isThere = sandbox.state.messages(conversationId).some((message) => message.body_html === body_html)
      await approvals.resolve(key, isThere ? 'applied' : 'absent')
      resolved += 1
      calm = 0
    }
  }
  expect(await approvals.list()).toEqual([])

  // Each reply is there once, as it was approved, and nothing else is.
  const wrong: string[] = []
  const counts = { sent: 0, stale: 0, rejected: 0, crossed: 0 }
  const sender = sandbox.state.members[0]?.user.id
  const ours = sandbox.state.conversations.flatMap(({ id }) => {
    return sandbox.state
      .messages(id)
      .filter((each) => each.user.id === sender && each.inserted_at * 1000 > Date.now() - 600_000)
  })
  for (const [id, { conversation, isQuestion }] of foreign) {
    if (!isQuestion) continue
    const key = `reply:${id}`
    const proposal = await approvals.get(key)
    const later = sandbox.state.messages(conversation).findIndex((message) => message.id === id)
    if (proposal === undefined) {
      if (later === 0) wrong.push(`missed: ${key}`)
      continue
    }
    const texts = person.approved.get(key) ?? new Set()
    const replies = ours.filter(({ body_html }) => texts.has(body_html))
    if (proposal.state !== 'sent' && proposal.state !== 'stale' && proposal.state !== 'rejected')
      wrong.push(`${key} is ${proposal.state}`)
    else counts[proposal.state] += 1
    if (replies.length !== (proposal.state === 'sent' ? 1 : 0))
      wrong.push(`${key} is ${proposal.state}, and ${replies.length} times there`)
    const [reply] = replies
    if (reply === undefined) continue
    if (reply.body_html !== (proposal.body as { body_html: string }).body_html) wrong.push(`other bytes: ${key}`)
    const sentAt =
      posts.filter(({ body }) => (body as { body_html?: string }).body_html === reply.body_html).at(-1)?.at ?? 0
    for (const [other, { conversation: where, at }] of foreign) {
      if (where !== conversation || proposal.known?.includes(other) || at >= sentAt) continue
      if (sentAt - at > longestCrossing) wrong.push(`stale: ${key} was sent ${sentAt - at} ms after ${other}`)
      counts.crossed += 1
    }
  }
  const all = new Set([...person.approved.values()].flatMap((texts) => [...texts]))
  for (const { id, body_html } of ours) if (!all.has(body_html)) wrong.push(`unapproved: ${id}`)
  const kills = processes.map((each) => each.kills).join('+')
  console.log(
    `seed ${seed}: ${foreign.size} messages, ${posts.length} POSTs, kills ${kills}, ${JSON.stringify(counts)}, ${resolved} resolved by a person`,
  )
  expect(wrong).toEqual([])
  expect(counts.sent).toBeGreaterThan(isFull ? 20 : 2)
}

const timeout = milliseconds + 300_000

describeOnSqlite((createDatabase) => {
  test('no reply is lost, doubled, other or too late, with the desk on SQLite', { timeout }, async () => {
    const file = await createDatabase()
    await prove(await open(moduleFor('sqlite', file)), { DESK_FILE: file, DATABASE_URL: '' })
  })
})

describeOnPostgres((createDatabase) => {
  test.runIf(isFull)('and on Postgres', { timeout }, async () => {
    const address = await createDatabase()
    await prove(await open(moduleFor('postgres', address)), { DATABASE_URL: address })
  })
})
