// The names that other folders import from the core, which sends calls. `src/index.ts` has the public names.

export type { Call, Reply } from './call.ts'
export { CallClock } from './call-clock.ts'
export { callOperation, type OptionsOf, type ResultOf } from './call-operation.ts'
export { readErrorBody } from './error-body.ts'
export { classifyFetchError, type FetchFault, isPlatformFetch } from './fetch-error.ts'
export { type AttemptStartEvent, type EventOf, emit, type Hooks, joinHooks, type OperationEvent } from './hooks.ts'
export { checkSignal } from './input.ts'

export type { Checkpoint, ListOptions } from './list-options.ts'
export { createLog, type Log } from './logging.ts'
export type { Guard, GuardedAttempt, Middleware, OutgoingCall } from './middleware.ts'
export type {
  Evidence,
  InputOf,
  ListQuery,
  Method,
  Operation,
  OperationInput,
} from './operation.ts'
export type { AccessTokenSource, CallOptions, ClientOptions } from './options.ts'
export { Paginated } from './pagination.ts'
export { BadFetch, isRedirect, MissingFetch, OpenResponse, UnusableResponse } from './response.ts'
export { type Core, createCore } from './send.ts'
export {
  type ChangeableOptions,
  type CheckedClientOptions,
  changeableChecks,
  changeOptions,
  checkClientOptions,
  checkHooks,
  settingsOf,
} from './settings.ts'
