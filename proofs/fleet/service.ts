import type { Database } from '../../examples/fleet-sync/database.ts'
import { type Fault, type RecordedRequest, type Sandbox, startSandbox } from '../../src/sandbox/index.ts'

/** What happened in an organization while the proof ran. */
interface Account {
  readonly id: string
  /** The token of other people, who change things. */
  readonly person: string
  readonly conversations: string[]
  readonly own: { readonly conversation: string; readonly id: string }[]
  /** How often each item was changed, at most: a change can have no effect. */
  readonly edits: Map<string, number>
  readonly deleted: Set<string>
}

/** The sandbox, with people who change things, and with faults. */
export async function startService(options: { readonly organizations: number; readonly conversations: number }) {
  const accounts = new Map<string, Account>()
  /** The organization of each token of the fleet. */
  const tokens = new Map<string, string>()
  const counts = { requests: 0, refused: 0, faults: 0, secondPages: 0, edits: 0 }
  let planned = 0
  const sandbox = await startSandbox({
    ...options,
    messagesPerConversation: 2,
    contacts: 1,
    tasks: 0,
    segments: 0,
    rateLimit: () => (planned++ % 4 === 0 ? '120/min' : undefined),
    onRequest: count,
  })
  for (const { id } of sandbox.state.organizations) {
    accounts.set(id, {
      id,
      person: sandbox.issueToken({ organization: id, actor: 'self' }),
      conversations: sandbox.state.of(id).conversations.map((conversation) => conversation.id),
      own: [],
      edits: new Map(),
      deleted: new Set(),
    })
  }

  function count({ headers, method, status, fault, query }: RecordedRequest): void {
    const account = accounts.get(tokens.get(headers.authorization ?? '') ?? '')
    if (account === undefined || method !== 'GET') return
    counts.requests += 1
    if (status === 429) counts.refused += 1
    else if (fault !== undefined) counts.faults += 1
    else if (status === 200 && query.after !== undefined) counts.secondPages += 1
  }

  async function send(account: Account, method: string, path: string, body?: object) {
    const response = await sandbox.fetch(`${sandbox.url}/api/oauth/v1/conversations${path}`, {
      method,
      headers: { authorization: `Bearer ${account.person}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) return undefined
    counts.edits += 1
    const text = await response.text()
    return text === '' ? { id: '' } : (JSON.parse(text) as { data: { id: string } }).data
  }

  // Lists of more than one page, of organizations without a rate limit.
  const [, many, long] = [...accounts.values()]
  for (let count = 0; count < 110 && many !== undefined && long !== undefined; count += 1) {
    const body = { customer_email: `${count}@customer.example`, initial_message: '<p>Hello</p>' }
    const added = await send(many, 'POST', '', body)
    if (added !== undefined) many.conversations.push(added.id)
    await send(long, 'POST', `/${long.conversations[0]}/messages`, { body_html: `<p>${count}</p>` })
  }

  /** Adds, edits or deletes something, as other people do. */
  async function change(): Promise<void> {
    const account = pick([...accounts.values()])
    const { conversations, own, edits, deleted } = account
    const edit = (id: string) => edits.set(id, (edits.get(id) ?? 0) + 1)
    const conversation = pick(conversations)
    const mine = pick(own)
    const choice = Math.random()
    const text = `<p>${Math.random()}</p>`
    if (choice < 0.15) {
      const body = { customer_email: `${Math.random()}@customer.example`, initial_message: text }
      const added = await send(account, 'POST', '', body)
      if (added !== undefined) conversations.push(added.id)
    } else if (choice < 0.35) {
      edit(conversation)
      await send(account, 'PATCH', `/${conversation}`, { status: pick(['open', 'waiting', 'closed']) })
    } else if (choice < 0.6 || mine === undefined) {
      edit(conversation)
      const added = await send(account, 'POST', `/${conversation}/messages`, { body_html: text })
      if (added !== undefined) own.push({ conversation, id: added.id })
    } else if (choice < 0.8) {
      edit(mine.id)
      edit(mine.conversation)
      await send(account, 'PATCH', `/${mine.conversation}/messages/${mine.id}`, { body_html: text })
    } else {
      edit(mine.conversation)
      if ((await send(account, 'DELETE', `/${mine.conversation}/messages/${mine.id}`)) === undefined) return
      own.splice(own.indexOf(mine), 1)
      deleted.add(mine.id)
    }
  }

  /** Injects a fault into a request that reads. */
  function fault(): void {
    const faults: Fault[] = [
      { status: 429, retryAfter: 1 },
      { status: 503 },
      { status: 502, body: 'Bad gateway' },
      { drop: 'before-effect' },
      { drop: 'mid-body' },
      { truncate: true },
      { latency: 100 + Math.random() * 500 },
    ]
    sandbox.faults.add({ ...pick(faults), method: 'GET' })
  }

  return {
    sandbox,
    counts,
    accounts,
    change,
    fault,
    /** Returns a new token of the fleet. */
    login(organization: string): string {
      const token = sandbox.issueToken({ organization, actor: 'app' })
      tokens.set(`Bearer ${token}`, organization)
      return token
    },
  }
}

/** The items of an organization before the chaos, by id, and the number of its last change. */
interface Baseline {
  readonly items: Map<string, string>
  changes: number
}

/** How a replica and its changes differ from what the service has. */
export interface Differences {
  /** Items that the replica lacks. */
  missing: number
  /** Items that the replica has in an old state. */
  stale: number
  /** Items that the service does not have. */
  extra: number
  /** Changes that were reported more often than they happened. */
  doubledChanges: number
  /** Changes that were never reported: of items that differ from the baseline, are new, or are gone. */
  lostChanges: number
  /** Items that were reported as deleted although they never were. */
  falseDeletions: number
}

export async function baselineOf(database: Database): Promise<Map<string, Baseline>> {
  const last = 'SELECT organization, max(number) AS changes FROM changes GROUP BY organization'
  const { rows } = await database.query<{ organization: string; changes: number }>(last)
  const baseline = new Map(rows.map(({ organization, changes }) => [organization, { items: new Map(), changes }]))
  const items = await database.query('SELECT organization, id, data FROM items WHERE deleted_at IS NULL')
  for (const { organization, id, data } of items.rows) baseline.get(organization)?.items.set(id, canonical(data))
  return baseline
}

/** Compares the replica of an organization with the service, item for item and change for change. */
export async function compare(
  database: Database,
  sandbox: Sandbox,
  key: string,
  account: Account,
  baseline: Baseline | undefined,
): Promise<Differences> {
  const service = sandbox.state.of(account.id)
  const real = new Map<string, string>()
  for (const conversation of service.conversations) {
    real.set(conversation.id, canonical(conversation))
    for (const message of service.messages(conversation.id)) real.set(message.id, canonical(message))
  }
  const items = await database.query('SELECT id, data FROM items WHERE organization = $1 AND deleted_at IS NULL', [key])
  const live = new Map<string, string>(items.rows.map(({ id, data }) => [id, canonical(data)]))
  const { rows: changes } = await database.query('SELECT id, kind, number FROM changes WHERE organization = $1', [key])
  const count = (id: string, kind: string, since = 0) =>
    changes.filter((each) => each.id === id && each.kind === kind && each.number > since).length
  const ids = new Set<string>(changes.map(({ id }) => id))
  const sum = (values: Iterable<string>, of: (id: string) => number | boolean) =>
    [...values].reduce((total, id) => total + Number(of(id)), 0)
  const since = baseline?.changes ?? 0
  const over = (reported: number, happened: number) => Math.max(0, reported - happened)
  return {
    missing: sum(real.keys(), (id) => !live.has(id)),
    stale: sum(real.keys(), (id) => live.has(id) && live.get(id) !== real.get(id)),
    extra: sum(live.keys(), (id) => !real.has(id)),
    doubledChanges:
      sum(ids, (id) => over(count(id, 'created'), 1) + over(count(id, 'deleted'), 1)) +
      sum(ids, (id) => over(count(id, 'updated'), account.edits.get(id) ?? 0)),
    lostChanges:
      sum(real.keys(), (id) => count(id, 'created') === 0) +
      sum(baseline?.items.keys() ?? [], (id) => {
        if (!live.has(id)) return count(id, 'deleted', since) === 0
        return live.get(id) !== baseline?.items.get(id) && count(id, 'updated', since) === 0
      }),
    falseDeletions: sum(ids, (id) => count(id, 'deleted') > 0 && !account.deleted.has(id)),
  }
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )
}

function pick<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)] as Value
}
