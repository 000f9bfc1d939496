import type { Fault, RecordedRequest, Sandbox, SandboxConversation } from '../sandbox/index.ts'

/** The name of a fault that a fault test injects. */
export type FaultName =
  | 'unavailable'
  | 'unavailable-from-here'
  | 'rate-limited'
  | 'rate-limited-without-time'
  | 'refused'
  | 'reset-before-effect'
  | 'reset-after-effect'
  | 'late-effect'
  | 'cut-off'
  | 'not-json'
  | 'stalled'
  | 'revoked'
  | 'killed-before-request'
  | 'killed-after-effect'
  | 'killed-for-an-hour'
  | 'killed-for-a-day'
  | 'status-changed'
  | 'assignee-changed'
  | 'message-received'
  | 'item-removed'
  | 'customer-writes'
  | 'colleague-writes'
  | 'colleague-closes'
  | 'colleague-assigns'
  | 'colleague-writes-while-limited'
  | 'killed-before-assignment'
  | 'killed-before-file-write'
  | 'killed-in-file-write'

const hour = 3_600_000

/**
 * The common part of the faults that kill the process after a write. Each fault adds what happens until the restart.
 */
const killedAfterWrite = { fault: { drop: 'after-effect' }, kills: true, onlyWrites: true } as const

type Change = NonNullable<FaultDefinition['change']>

const customerWrites: Change = (sandbox, { id }) => sandbox.receiveMessage(id, '<p>Is there any news?</p>')

/** Answers as a team member other than the first admin, because the job's client acts as the first admin. */
const colleagueWrites: Change = (sandbox, { id }) => {
  const members = sandbox.state.members.filter(({ archived }) => !archived)
  const first = members.find(({ role }) => role === 'admin')
  const colleague = members.find((member) => member !== first)
  return colleague && sandbox.answer(id, '<p>Refunded.</p>', { member: colleague.id })
}

const colleagueCloses: Change = (sandbox, { id, status }) => {
  sandbox.updateConversation(id, { status: status === 'closed' ? 'open' : 'closed' })
  return undefined
}

const colleagueAssigns: Change = (sandbox, { id, conversation_assignee: assignee }) => {
  const other = sandbox.state.members.find(({ archived, user }) => !archived && user.id !== assignee?.user_id)
  if (other !== undefined) sandbox.updateConversation(id, { assignee: other.id })
  return undefined
}

/** All faults, simplest first. A fault test injects each fault into each request that the fault can affect. */
export const faults: Readonly<Record<FaultName, FaultDefinition>> = {
  unavailable: { text: 'a 503', fault: { status: 503 } },
  'unavailable-from-here': { text: 'a 503 to this and every later request', fault: { status: 503 }, lasts: true },
  'rate-limited': { text: 'a 429 with `Retry-After`', fault: { status: 429, retryAfter: 5 } },
  'rate-limited-without-time': { text: 'a 429 without `Retry-After`', fault: { status: 429 } },
  refused: { text: 'a refused connection', fault: { drop: 'refused' } },
  'reset-before-effect': { text: 'a connection reset before the effect', fault: { drop: 'before-effect' } },
  'reset-after-effect': {
    text: 'a connection reset after the effect',
    fault: { drop: 'after-effect' },
    onlyWrites: true,
  },
  'late-effect': {
    text: 'a connection reset 5 seconds before the effect',
    fault: { drop: 'before-effect', lateEffect: 5_000 },
    onlyWrites: true,
  },
  'cut-off': { text: 'a response that is cut off', fault: { drop: 'mid-body' } },
  'not-json': { text: 'a response that is not JSON', fault: { garbage: true } },
  stalled: { text: 'a body that stalls', fault: { stall: true } },
  revoked: { text: 'a token revoked before the request' },
  'killed-before-request': {
    text: 'the process killed before the request left',
    fault: { drop: 'before-effect' },
    kills: true,
  },
  'killed-after-effect': { ...killedAfterWrite, text: 'the process killed after the effect' },
  'killed-for-an-hour': { ...killedAfterWrite, text: 'the process killed after the effect, for an hour', pause: hour },
  'killed-for-a-day': { ...killedAfterWrite, text: 'the process killed after the effect, for a day', pause: 24 * hour },
  'status-changed': {
    ...killedAfterWrite,
    text: 'the process killed after the effect, while a colleague closes the conversation, or opens it',
    change: colleagueCloses,
  },
  'assignee-changed': {
    ...killedAfterWrite,
    text: 'the process killed after the effect, while a colleague assigns the conversation',
    change: colleagueAssigns,
  },
  'message-received': {
    ...killedAfterWrite,
    text: 'the process killed after the effect, while the customer writes again',
    change: customerWrites,
  },
  'item-removed': {
    text: 'an item that a colleague removes after the request',
    change(sandbox, { id }) {
      sandbox.removeItem(id)
      return undefined
    },
  },
  'customer-writes': { text: 'the customer writes before the request', isBefore: true, change: customerWrites },
  'colleague-writes': { text: 'a colleague writes before the request', isBefore: true, change: colleagueWrites },
  'colleague-closes': {
    text: 'a colleague closes the conversation, or opens it, before the request',
    isBefore: true,
    change: colleagueCloses,
  },
  'colleague-assigns': {
    text: 'a colleague assigns the conversation before the request',
    isBefore: true,
    change: colleagueAssigns,
  },
  'colleague-writes-while-limited': {
    text: 'a 429 with `Retry-After`, while a colleague writes during the wait',
    fault: { status: 429, retryAfter: 5 },
    onlyWrites: true,
    change: colleagueWrites,
  },
  'killed-before-assignment': { text: 'the process killed before an assignment', place: 'assignment' },
  'killed-before-file-write': { text: 'the process killed before a file write', place: 'file write' },
  'killed-in-file-write': { text: 'the process killed in the middle of a file write', place: 'file cut' },
}

/** A fault that a fault test injects. */
export interface FaultDefinition {
  /** The description in a report, for example `a 503`. */
  readonly text: string
  /**
   * The kind of place where the fault is injected.
   * @default 'request'
   */
  readonly place?: Place
  /** The fault that the sandbox injects. */
  readonly fault?: Fault
  /** Whether the fault also affects every later request. */
  readonly lasts?: boolean
  /** Whether the process is killed when the connection closes. */
  readonly kills?: boolean
  /** Simulated time until the process starts again, in milliseconds. */
  readonly pause?: number
  /** Whether the fault is injected only into requests that write. In a read, it would be like a simpler fault. */
  readonly onlyWrites?: boolean
  /** Whether the change happens right after the response before the request, and not after the request. */
  readonly isBefore?: boolean
  /** Changes the data as a colleague or the customer would. Returns the id of a message that they wrote. */
  change?(sandbox: Sandbox, item: SandboxConversation): string | undefined
}

/** The names of the faults, simplest first. */
export const faultNames = Object.keys(faults) as readonly FaultName[]

/** A fault and the place in a run where it is injected. */
export interface InjectedFault {
  /** The name of the fault, for example `reset-after-effect`. */
  readonly fault: FaultName
  /** The number of the request, assignment or file write, counted from 1. */
  readonly at: number
}

/** Returns the id of a run, such as `unavailable@2`. */
export function idOf({ fault, at }: InjectedFault): string {
  return `${fault}@${at}`
}

/** Returns what a fault does. Nothing in a run without faults. */
export function definitionOf(injected: InjectedFault | undefined): Partial<FaultDefinition> {
  return injected === undefined ? {} : faults[injected.fault]
}

/** The kinds of places where a fault can be injected. */
export type Place = 'request' | 'assignment' | 'file write' | 'file cut'

export function placeOf(fault: FaultName): Place {
  return faults[fault].place ?? 'request'
}

/** An item whose id is in the path of a request. */
export interface Item {
  readonly list: 'conversations' | 'contacts' | 'tasks' | 'segments'
  readonly id: string
}

/** Returns the item that a path names. */
export function itemOf(path: string): Item | undefined {
  const [, list, id] = /^\/api\/oauth\/v1\/(conversations|contacts|tasks|segments)\/([^/]+)/.exec(path) ?? []
  return id === undefined ? undefined : { list: list as Item['list'], id }
}

/** Returns the item of a request, or of the first later request that has one. */
export function itemAfter(requests: readonly Pick<RecordedRequest, 'path'>[], at: number): Item | undefined {
  return requests.slice(at - 1).flatMap(({ path }) => itemOf(path) ?? [])[0]
}

/** Whether a fault can be injected at a place of its kind. The places are counted from 1. */
export function canInject(name: FaultName, requests: readonly RecordedRequest[], at: number): boolean {
  if (placeOf(name) !== 'request') return true
  const { onlyWrites, isBefore, change } = faults[name]
  const request = requests[at - 1]
  if (request === undefined || (onlyWrites && request.method === 'GET')) return false
  if (change === undefined) return true
  if (isBefore) return at > 1 && itemAfter(requests, at)?.list === 'conversations'
  return onlyWrites ? itemOf(request.path)?.list === 'conversations' : itemAfter(requests, at) !== undefined
}

/** A change that the customer or a colleague made in a run. */
export interface FaultTestChange {
  /** The fault that made the change, for example `colleague-writes`. */
  readonly fault: FaultName
  /** The id of the conversation, or of the removed item. */
  readonly id: string
  /** The id of the message that the customer or the colleague wrote. Undefined for other changes. */
  readonly message: string | undefined
  /** The time of the change on the sandbox's clock, in milliseconds since the epoch. */
  readonly at: number
}
