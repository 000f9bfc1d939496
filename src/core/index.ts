// What the folders above use of the core, which sends calls. Applications see `src/index.ts`.

export type { Reply } from './attempt.ts'
export { Call } from './call.ts'
export { type Locate, rememberCaller } from './caller.ts'
export { readErrorBody } from './envelope.ts'
export { classifyFetchError, type FetchFault, isPlatformFetch, provenFetches, unproven } from './fetch-error.ts'
export { type AttemptStartEvent, type EventOf, emit, type Hooks, type OperationEvent } from './hooks.ts'
export { type CapturedCall, captureCall, checkSignal } from './input.ts'
export { type ListOptions, listChecks, takeListOptions } from './list-options.ts'
export {
  checkOperation,
  type Evidence,
  type InputOf,
  type ListQuery,
  type Method,
  type Operation,
  type OperationInput,
  type OutputOf,
} from './operation.ts'
export type { AccessTokenSource, CallOptions, ClientOptions, Undo } from './options.ts'
export { type ListPlan, Paginated } from './pagination.ts'
export { BadFetch, isRedirect, OpenResponse, UnusableResponse } from './response.ts'
export { RetryAfterLimiter } from './retry-after-limiter.ts'
export {
  type CallSettings,
  type ChangeableOptions,
  changeableChecks,
  checkHooks,
  checkPositive,
  readClientSettings,
} from './settings.ts'
export { type Intercept, Transport } from './transport.ts'
