import type { EndTurn, RateLimiter, RefusedRequest } from '../rate-limiter/index.ts'
import { notify } from '../shared/notify.ts'
import { isPromise } from './call-clock.ts'
import { callerError, heldBackError } from './call-errors.ts'
import type { CallRecord, Failure } from './call-record.ts'

/** Ends a permit, if the limiter wants to know. */
type EndPermit = ((refused?: RefusedRequest, failure?: 'unserved') => void) | undefined

/** A permit of the rate limiter. */
interface Turn {
  /** Says that the service has served the request, or how the request failed. */
  end(result: 'served' | Failure | undefined): void
}

/** Gets a permit of the rate limiter. */
export async function takeTurn(record: CallRecord): Promise<Turn> {
  const { rateLimiter, findRateLimitKey } = record.settings
  const found = findRateLimitKey()
  const key = typeof found === 'string' ? found : await record.clock.run(found)
  const tally = tallyOf(rateLimiter, key, operationOf(record))
  // Counted from the last request of the call, or else from its start.
  const servedBefore = record.servedBefore ?? tally.served
  const end = await acquire(record, rateLimiter, key)
  record.servedBefore = tally.served
  return {
    end(result) {
      const failure = result === 'served' ? undefined : result
      if (failure?.isHeldBack) failure.countsAsRetry = tally.served === servedBefore
      if (failure?.head?.status === 429) {
        failure.countsAsRetry = tally.served === servedBefore
        return notify(end, { retryAfter: failure.retryAfter })
      }
      const hasServed = result === 'served' || isServed(failure?.head?.status)
      if (hasServed) tally.served += 1
      notify(end, undefined, hasServed ? undefined : 'unserved')
    },
  }
}

async function acquire(record: CallRecord, rateLimiter: RateLimiter, key: string): Promise<EndPermit> {
  const { call, settings, clock, start } = record
  const canWait = call.maxRetries > 0
  let heldBack: unknown
  let isSettled = false
  let acquired: EndTurn | Promise<EndTurn>
  try {
    acquired = rateLimiter.acquire(key, clock.signal, {
      operation: operationOf(record),
      canWait,
      background: settings.background,
      whenOver: (listener) => void record.endListeners.push(listener),
      startedAt: start,
      timeLeft: clock.remaining,
      onWait(wait, pause = 0) {
        // A limiter can announce a wait too late: while the request is under way, or after the end of the call.
        if (isSettled || heldBack !== undefined) return
        const longest = Math.max(wait, pause)
        const isPatient = canWait && pause <= settings.maxRetryAfter && pause < clock.remaining
        if (longest <= 0 || isPatient) return record.wait(wait)
        heldBack = heldBackError(record, longest)
        clock.interrupt(heldBack)
      },
    })
    // The limiter might have called `onWait` at once.
    const end = isPromise(acquired) && heldBack === undefined ? await clock.run(acquired) : acquired
    if (heldBack !== undefined) throw heldBack
    return typeof end === 'function' ? end : undefined
  } catch (thrown) {
    // The limiter might have ignored the signal, or granted the permit at the same moment.
    Promise.resolve(acquired).then(
      (end) => notify(end ?? undefined, undefined, 'unserved'),
      () => {},
    )
    throw heldBack ?? callerError(record, thrown, 'rate limiter')
  } finally {
    isSettled = true
  }
}

/** Whether the service has processed a request, even if with an error. */
function isServed(status = 0): boolean {
  return status >= 400 && status < 500 && status !== 408
}

/** HTTP method and path template. */
function operationOf({ call: { operation } }: CallRecord): string {
  return `${operation.method} ${operation.path}`
}

/** Number of requests of an operation that the service has served. A refused call waits on while others are served. */
interface Tally {
  served: number
}

const tallies = /* @__PURE__ */ new WeakMap<RateLimiter, Map<string, Tally>>()

/** Maximum number of operations, because paths of `request()` can contain ids, so the map could grow without end. */
const mostTallies = 1_000

/** The clients of a rate limiter share a budget, so they count together. */
function tallyOf(rateLimiter: RateLimiter, key: string, operation: string): Tally {
  let ofLimiter = tallies.get(rateLimiter)
  if (ofLimiter === undefined || ofLimiter.size > mostTallies) {
    ofLimiter = new Map()
    tallies.set(rateLimiter, ofLimiter)
  }
  const name = `${key} ${operation}`
  const tally = ofLimiter.get(name) ?? { served: 0 }
  ofLimiter.set(name, tally)
  return tally
}
