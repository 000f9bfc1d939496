import { AuthenticationError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import type { EndTurn, RateLimiter } from '../rate-limiter/index.ts'
import { checkAccessToken } from '../shared/credentials.ts'
import { notify } from '../shared/notify.ts'
import type { Reply } from './call.ts'
import { isPromise } from './call-clock.ts'
import { type CallerPart, callerError, cannotWaitError, timeoutError } from './call-errors.ts'
import type { CallRecord } from './call-record.ts'
import { exchange } from './exchange.ts'
import { readHeaders } from './headers.ts'
import type { Failure } from './retry.ts'

/**
 * Sends a request of a call: with a token, headers and a permit of the rate limiter. The permit comes last. Otherwise, a
 * token provider that makes a call could wait for the permit that this request holds.
 */
export async function sendAttempt(record: CallRecord, url: string): Promise<Reply> {
  const accessToken = await tokenOf(record)
  const headers = await headersOf(record, accessToken)
  const endTurn = await takeTurn(record)
  try {
    const reply = await guarded(record, accessToken, () => exchange(record, url, headers))
    endTurn('served')
    return reply
  } catch (thrown) {
    const failure = record.failureOf(thrown)
    endTurn(failure)
    const isInvalid = failure?.error instanceof AuthenticationError && failure.error.code === 'invalid_token'
    if (isInvalid) await reportInvalidToken(record, failure.error, accessToken)
    throw thrown
  }
}

async function tokenOf(record: CallRecord): Promise<string> {
  const { tokenSource } = record.settings
  const accessToken =
    tokenSource.accessToken ??
    (await ask(record, 'token provider', () => tokenSource.getAccessToken(), checkAccessToken))
  record.addSecret(accessToken)
  return accessToken
}

/** Calls `onInvalidToken`. If it throws, its error becomes the cause of the 401. */
async function reportInvalidToken({ settings, call, clock, secrets }: CallRecord, error: Error, accessToken: string) {
  try {
    const reported = settings.tokenSource.onInvalidToken?.(accessToken)
    if (isPromise(reported)) await clock.run(reported, call.timeout, () => new Error('onInvalidToken took too long'))
  } catch (thrown) {
    if (clock.end !== undefined && !clock.end.isLate) throw clock.end.reason
    const cause = safeCause(thrown ?? new Error('onInvalidToken failed'), secrets)
    Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true })
  }
}

/** Returns the headers of the client, then the headers of the call. Functions are called for each attempt. */
async function headersOf(record: CallRecord, accessToken: string): Promise<Readonly<Record<string, string>>> {
  const { call, settings } = record
  const headers: Record<string, string> = call.body === undefined ? {} : { 'content-type': 'application/json' }
  for (const source of [...settings.headers, call.headers]) {
    const added = typeof source === 'function' ? await ask(record, 'headers function', source, readHeaders) : source
    Object.assign(headers, added)
  }
  return Object.assign(headers, { authorization: `Bearer ${accessToken}` })
}

/** Runs the guard of a journal around the request. */
async function guarded(record: CallRecord, accessToken: string, send: () => Promise<Reply>): Promise<Reply> {
  const { call, clock, settings } = record
  if (settings.guard === undefined || call.operation.method === 'GET') return send()
  const sentBefore = record.sent
  try {
    return await settings.guard.around(send, {
      accessToken,
      signal: clock.createCallSignal(),
      timeLeft: clock.remaining,
      deferred(seconds) {
        const retryAfter = seconds === undefined ? undefined : seconds * 1000
        return record.defer(cannotWaitError(record, retryAfter || 1000), retryAfter)
      },
      untilEnd: (step) => clock.run(step),
      mayHaveBeenApplied: (thrown) => record.mayHaveBeenApplied(thrown, sentBefore),
    })
  } catch (thrown) {
    throw callerError(record, thrown, 'journal')
  }
}

/**
 * Asks a function of the caller. Each such step has the `timeout` of the call, as the request itself has.
 *
 * @param use checks what it returns
 */
async function ask<Value, Result>(
  record: CallRecord,
  part: CallerPart,
  run: () => Value | PromiseLike<Value>,
  use: (value: Value) => Result,
): Promise<Result> {
  const { clock, call } = record
  try {
    const value = run()
    if (!isPromise(value)) return use(value as Value)
    const expired = () => timeoutError(record, { limit: 'attempt', isSent: false })
    return use((await clock.run(value, call.timeout, expired)) as Value)
  } catch (thrown) {
    throw callerError(record, thrown, part)
  }
}

/**
 * Gets a permit of the rate limiter. Returns the function that ends it, and which gets the failure of the request unless
 * the service has served it.
 */
async function takeTurn(record: CallRecord): Promise<(result: 'served' | Failure | undefined) => void> {
  const { rateLimiter, findRateLimitKey } = record.settings
  const found = findRateLimitKey()
  const key = typeof found === 'string' ? found : await record.clock.run(found)
  const name = `${key} ${operationOf(record)}`
  const served = servedRequests.get(rateLimiter) ?? new Map<string, number>()
  servedRequests.set(rateLimiter, served)
  // Counted from the last request of the call, or else from its start.
  const servedBefore = record.servedBefore ?? lastServed
  const end = await acquire(record, rateLimiter, key)
  record.servedBefore = lastServed
  return (result) => {
    const failure = result === 'served' ? undefined : result
    const isStarved = (served.get(name) ?? 0) <= servedBefore
    // A limited call keeps waiting while the service serves other calls.
    if (failure?.isLimited) record.starved = isStarved ? record.starved + 1 : 0
    if (failure?.head?.status === 429) return notify(end, { retryAfter: failure.retryAfter })
    const hasServed = result === 'served' || failure?.head?.isRefused === true
    if (hasServed) {
      if (served.size >= mostOperations) served.clear()
      lastServed += 1
      served.set(name, lastServed)
    }
    notify(end, undefined, hasServed ? undefined : 'unserved')
  }
}

/** Returns the function that ends the permit, if the limiter wants to know. */
async function acquire(
  record: CallRecord,
  rateLimiter: RateLimiter,
  key: string,
): Promise<Exclude<EndTurn, void> | undefined> {
  const { call, settings, clock, start } = record
  const canWait = call.maxRetries > 0
  let rejection: unknown
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
        if (isSettled || rejection !== undefined) return
        const longest = Math.max(wait, pause)
        const isPatient = canWait && pause <= settings.maxRetryAfter && pause < clock.remaining
        if (longest <= 0 || isPatient) return record.announceWait(wait)
        rejection = cannotWaitError(record, longest)
        clock.interrupt(rejection)
      },
    })
    // The limiter might have called `onWait` at once.
    const end = isPromise(acquired) && rejection === undefined ? await clock.run(acquired) : acquired
    if (rejection !== undefined) throw rejection
    return typeof end === 'function' ? end : undefined
  } catch (thrown) {
    // The limiter might have ignored the signal, or granted the permit at the same moment.
    Promise.resolve(acquired).then(
      (end) => notify(end ?? undefined, undefined, 'unserved'),
      () => {},
    )
    throw rejection ?? callerError(record, thrown, 'rate limiter')
  } finally {
    isSettled = true
  }
}

/** HTTP method and path template. */
function operationOf({ call: { operation } }: CallRecord): string {
  return `${operation.method} ${operation.path}`
}

/** The number of the request that any service has served last. Later requests have higher numbers. */
let lastServed = 0

/** The last served request of each operation and key. The clients of a rate limiter share a budget, so they count together. */
const servedRequests = /* @__PURE__ */ new WeakMap<RateLimiter, Map<string, number>>()

/**
 * Maximum number of operations, because paths of `request()` can contain ids, so the map could grow without end. When
 * the map is cleared, a waiting call counts at most one retry too many.
 */
const mostOperations = 1_000
