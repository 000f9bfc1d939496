import { ApiError, ConnectionError, RequestError, TimeoutError } from '../errors/index.ts'
import type { Method } from '../operation.ts'
import { mayRepeat } from './retry-policy.ts'

/** Whether a request that failed with this error, its retries included, may be sent once more. */
export function isRepeatable(method: Method, error: unknown): boolean {
  // Without a request there is no response to respect: the token provider failed, and may not the next time.
  if (!(error instanceof RequestError)) return true
  const fault = error instanceof ConnectionError || error instanceof TimeoutError
  const status = error instanceof ApiError ? error.status : undefined
  return mayRepeat(method, { outcome: error.outcome, status, fault })
}
