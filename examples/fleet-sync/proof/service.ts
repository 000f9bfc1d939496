// A process with the service: organizations with hidden limits, faults, changes by others, and a count of what arrives.
import { type Fault, type RecordedRequest, type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { type ChangeLog, Changes } from './changes.ts'
import { serveRemote } from './remote.ts'

/** What an organization is for. */
export type Role = 'busy' | 'noisy' | 'quiet'

export interface OrganizationPlan {
  readonly role: Role
  /** The hidden limit, in requests a minute. */
  readonly limit: number
  readonly conversations: number
}

export interface ServiceOptions {
  readonly organizations: readonly OrganizationPlan[]
  readonly messagesPerConversation: number
}

/** What the service knows of an organization after the setup. */
export interface Account extends OrganizationPlan {
  readonly id: string
  /** The token of the connection. */
  readonly token: string
}

/** Requests of an organization since the start of a period. */
export interface Traffic {
  /** Requests of the connection. */
  sent: number
  /** Those that got a 429. */
  refused: number
  /** Accepted requests of others, which count against the same limit. */
  others: number
  /** Requests that a fault was injected into. */
  faults: number
}

/** What an organization really has, to compare with the replica. */
export interface Truth extends ChangeLog {
  readonly items: { kind: 'conversation' | 'message'; id: string; data: unknown }[]
}

export type ServiceFunctions = Awaited<ReturnType<typeof createService>>

async function createService({ organizations, messagesPerConversation }: ServiceOptions) {
  // The limits are in force during the setup, so the clock moves on when one is reached.
  let clockAhead = 0
  let planned = 0
  const accountOf = new Map<string, { organization: string; isConnection: boolean }>()
  let traffic = new Map<string, Traffic>()
  const sandbox = await startSandbox({
    organizations: organizations.length,
    conversations: Math.min(...organizations.map(({ conversations }) => conversations)),
    messagesPerConversation,
    contacts: 5,
    maxLimit: 100,
    now: () => Date.now() + clockAhead,
    rateLimit: () => `${organizations[planned++]?.limit ?? 60}/min`,
    onRequest: count,
  })

  function count({ headers, status, fault, path }: RecordedRequest): void {
    const account = accountOf.get(headers.authorization ?? '')
    if (account === undefined || !path.startsWith('/api/oauth/v1/')) return
    const counts = trafficOf(account.organization)
    const isRefused = fault === 'rate limit'
    if (!account.isConnection) counts.others += isRefused ? 0 : 1
    else {
      counts.sent += 1
      if (isRefused) counts.refused += 1
      else if (fault !== undefined && status !== 401) counts.faults += 1
    }
  }

  function trafficOf(organization: string): Traffic {
    const counts = traffic.get(organization) ?? { sent: 0, refused: 0, others: 0, faults: 0 }
    traffic.set(organization, counts)
    return counts
  }

  function issueToken(organization: string, actor: 'app' | 'self', isConnection: boolean): string {
    const token = sandbox.issueToken({ organization, actor })
    accountOf.set(`Bearer ${token}`, { organization, isConnection })
    return token
  }

  const accounts = sandbox.state.organizations.map(({ id }, index): Account => {
    return { ...(organizations[index] as OrganizationPlan), id, token: issueToken(id, 'app', true) }
  })
  const others = new Map(accounts.map(({ id }) => [id, issueToken(id, 'self', false)]))
  const changes = new Changes(sandbox, others)
  for (const { id, conversations } of accounts) {
    const { length } = sandbox.state.of(id).conversations
    for (let added = length; added < conversations; ) {
      if (await changes.addConversation(id)) added += 1
      else clockAhead += 60_000
    }
    // A full bucket would hide the limit for a long time.
    if (accounts.find((account) => account.id === id)?.role !== 'quiet') while (await changes.read(id));
  }

  const stops = new Map<string, () => void>()
  function repeat(name: string, perSecond: number, run: () => unknown): void {
    stops.get(name)?.()
    if (perSecond === 0) return
    const timer = setInterval(run, 1_000 / perSecond)
    stops.set(name, () => clearInterval(timer))
  }

  return {
    url: () => sandbox.url,
    accounts: () => accounts,
    /** Returns the traffic of each organization since the last call. */
    takeTraffic() {
      const taken = traffic
      traffic = new Map()
      return taken
    },
    /** Injects this many faults a second, into requests that read. */
    setFaults(perSecond: number) {
      repeat('faults', perSecond, () => sandbox.faults.add({ ...randomFault(), method: 'GET' }))
      if (perSecond === 0) sandbox.faults.clear()
    },
    /** Makes this many changes a second, each in a random organization. */
    setChanges(perSecond: number) {
      repeat('changes', perSecond, () => changes.make(pick(accounts).id))
    },
    /** Sends this many requests a second with another token of an organization. */
    setOtherLoad(organization: string, perSecond: number) {
      repeat(`load ${organization}`, perSecond, () => changes.read(organization))
    },
    revoke: (tokens: readonly string[]) => tokens.map((token) => sandbox.revoke(token)),
    truth: (organization: string): Truth => ({ items: itemsOf(sandbox, organization), ...changes.logOf(organization) }),
    /** Returns the CPU time of this process in seconds. */
    cpu: () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
  }
}

function itemsOf(sandbox: Sandbox, organization: string): Truth['items'] {
  const state = sandbox.state.of(organization)
  return state.conversations.flatMap((conversation) => [
    { kind: 'conversation' as const, id: conversation.id, data: conversation },
    ...state.messages(conversation.id).map((message) => ({ kind: 'message' as const, id: message.id, data: message })),
  ])
}

function randomFault(): Fault {
  return pick<Fault>([
    { status: 503 },
    { status: 502, body: 'Bad gateway' },
    { drop: 'before-effect' },
    { drop: 'after-effect' },
    { drop: 'mid-body' },
    { truncate: true },
    { latency: 200 + Math.random() * 800 },
  ])
}

function pick<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)] as Value
}

serveRemote(createService)
