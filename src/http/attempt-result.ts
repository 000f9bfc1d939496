import type { ResponseInfo } from '../errors/index.ts'
import type { Unwrapped } from './envelope.ts'
import type { Failure } from './failure.ts'

/** What one attempt came to. */
export type AttemptResult =
  | { readonly success: Unwrapped & { readonly response: ResponseInfo } }
  | { readonly failure: Failure }
