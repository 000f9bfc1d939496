import type { Fault } from '../sandbox/index.ts'

/** The name of a fault of a sweep. */
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
  | 'killed-before-assignment'

/** The faults of a sweep, from the simplest. A sweep injects each into each request. */
export const faults: Readonly<Record<FaultName, SweptFault>> = {
  unavailable: { text: 'a 503', fault: { status: 503 } },
  'unavailable-from-here': { text: 'a 503 to this and every later request', fault: { status: 503 }, lasts: true },
  'rate-limited': { text: 'a 429 with `Retry-After`', fault: { status: 429, retryAfter: 30 } },
  'rate-limited-without-time': { text: 'a 429 without `Retry-After`', fault: { status: 429 } },
  refused: { text: 'a refused connection', fault: { drop: 'refused' } },
  'reset-before-effect': { text: 'a connection reset before the effect', fault: { drop: 'before-effect' } },
  'reset-after-effect': { text: 'a connection reset after the effect', fault: { drop: 'after-effect' } },
  'late-effect': {
    text: 'a connection reset 5 seconds before the effect',
    fault: { drop: 'before-effect', lateEffect: 5_000 },
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
  'killed-after-effect': {
    text: 'the process killed after the effect',
    fault: { drop: 'after-effect' },
    kills: true,
  },
  'killed-before-assignment': { text: 'the process killed before an assignment' },
}

/** A fault of a sweep. */
export interface SweptFault {
  /** For a report. */
  readonly text: string
  /** What the sandbox injects. */
  readonly fault?: Fault
  /** Whether it applies to every later request too. */
  readonly lasts?: boolean
  /** Whether the process is killed when the connection closes. */
  readonly kills?: boolean
}

/** Names from the simplest fault. */
export const faultNames = Object.keys(faults) as readonly FaultName[]

/** A fault and where it strikes: at a request, or before an assignment, counted from 1 within a run. */
export interface Strike {
  readonly fault: FaultName
  readonly at: number
}

/** Returns the id of a run, such as `unavailable@2+killed-before-assignment@1`. */
export function idOf(strikes: readonly Strike[]): string {
  return strikes.map(({ fault, at }) => `${fault}@${at}`).join('+')
}

/** Whether a fault strikes at an assignment, instead of at a request. */
export function isAtAssignment({ fault }: Pick<Strike, 'fault'>): boolean {
  return fault === 'killed-before-assignment'
}
