import type { Database, OrganizationTable } from '../../../examples/fleet-sync/tables.ts'
import { type Fault, type RecordedRequest, type Sandbox, startSandbox } from '../../../src/sandbox/index.ts'

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
  /** Pages that this sync pass has read. */
  pages: Set<string>
}

/** The sandbox, with people who change things, with faults, and with a count of the pages that were read twice. */
export async function startService(options: { readonly organizations: number; readonly conversations: number }) {
  const accounts = new Map<string, Account>()
  /** The organization of each token of the fleet. */
  const tokens = new Map<string, string>()
  const counts = { requests: 0, refused: 0, faults: 0, secondPages: 0, pagesReadTwice: 0, edits: 0 }
  let planned = 0
  const sandbox = await startSandbox({
    ...options,
    messagesPerConversation: 2,
    contacts: 1,
    tasks: 0,
    segments: 0,
    rateLimit: () => (planned++ % 4 === 0 ? '60/min' : undefined),
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
      pages: new Set(),
    })
  }

  function count({ headers, method, status, fault, path, query }: RecordedRequest): void {
    const account = accounts.get(tokens.get(headers.authorization ?? '') ?? '')
    if (account === undefined || method !== 'GET') return
    counts.requests += 1
    if (status === 429) counts.refused += 1
    else if (fault !== undefined) counts.faults += 1
    else if (status === 200 && /(conversations|messages)$/.test(path) && query.limit !== '1') {
      if (query.after !== undefined) counts.secondPages += 1
      const page = `${path}?${query.after ?? ''}`
      // The first page of conversations starts a sync pass, or its second reading.
      if (page.endsWith('/conversations?')) account.pages = new Set()
      if (account.pages.has(page)) counts.pagesReadTwice += 1
      account.pages.add(page)
    }
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

/** An item as it was before the chaos, by kind and id. */
export type Baseline = ReadonlyMap<string, string>

/** How a replica and its changes differ from what the service has. */
export interface Differences {
  /** Items that the replica lacks. */
  missing: number
  /** Items that the replica has in an old state. */
  stale: number
  /** Items that the service does not have. */
  extra: number
  /** Changes that were reported more often than they happened, or with gaps in their numbers. */
  doubledChanges: number
  /** Changes that were never reported: of items that differ from the baseline, are new, or are gone. */
  lostChanges: number
  /** Items that were reported as deleted although they never were. */
  falseDeletions: number
}

export async function baselineOf(database: Database): Promise<Map<string, { items: Baseline; changes: number }>> {
  const organizations = await database.selectFrom('organizations').select(['key', 'changes']).execute()
  const baseline = new Map<string, { items: Map<string, string>; changes: number }>()
  for (const { key, changes } of organizations) baseline.set(key, { items: new Map(), changes })
  for (const { key, id, hash, deleted_at } of await database.selectFrom('items').selectAll().execute()) {
    if (deleted_at === null) baseline.get(key)?.items.set(id, hash)
  }
  return baseline
}

/** Compares the replica of an organization with the service, item for item and change for change. */
export async function compare(
  database: Database,
  sandbox: Sandbox,
  { key }: Pick<OrganizationTable, 'key'>,
  account: Account,
  baseline: { items: Baseline; changes: number } | undefined,
): Promise<Differences> {
  const service = sandbox.state.of(account.id)
  const real = new Map<string, string>()
  for (const conversation of service.conversations) {
    real.set(conversation.id, canonical(conversation))
    for (const message of service.messages(conversation.id)) real.set(message.id, canonical(message))
  }
  const rows = await database.selectFrom('items').selectAll().where('key', '=', key).execute()
  const live = new Map(rows.filter(({ deleted_at }) => deleted_at === null).map((row) => [row.id, row]))
  const changes = await database.selectFrom('changes').selectAll().where('key', '=', key).orderBy('number').execute()
  const count = (id: string, kind: string, since = 0) =>
    changes.filter((each) => each.id === id && each.change === kind && each.number > since).length
  const ids = new Set(changes.map(({ id }) => id))
  const sum = (values: Iterable<string>, of: (id: string) => number | boolean) =>
    [...values].reduce((total, id) => total + Number(of(id)), 0)
  const since = baseline?.changes ?? 0
  const over = (reported: number, happened: number) => Math.max(0, reported - happened)
  return {
    missing: sum(real.keys(), (id) => !live.has(id)),
    stale: sum(real.keys(), (id) => live.has(id) && canonical(JSON.parse(live.get(id)?.data ?? '')) !== real.get(id)),
    extra: sum(live.keys(), (id) => !real.has(id)),
    doubledChanges:
      sum(ids, (id) => over(count(id, 'created'), 1) + over(count(id, 'deleted'), 1)) +
      sum(ids, (id) => over(count(id, 'updated'), account.edits.get(id) ?? 0) + count(id, 'restored')) +
      changes.filter(({ number }, index) => number !== index + 1).length,
    lostChanges:
      sum(real.keys(), (id) => count(id, 'created') === 0) +
      sum(baseline?.items.keys() ?? [], (id) => {
        const row = live.get(id)
        if (row === undefined) return count(id, 'deleted', since) === 0
        return row.hash !== baseline?.items.get(id) && count(id, 'updated', since) === 0
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
