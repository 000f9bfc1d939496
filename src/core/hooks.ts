import type { Actor } from '../shared/actor.ts'
import type { Outcome } from '../shared/errors/index.ts'
import { notify } from '../shared/notify.ts'
import type { Method } from './operation.ts'

/**
 * The properties of every event. Events exclude headers, bodies, ids, queries, cursors and tokens. Only your `context`
 * is added.
 */
export interface OperationEvent {
  /** A number that only the events of this call have. Later calls have higher numbers. */
  readonly callId: number
  /** The operation's id, for example `conversations.list`. */
  readonly operation: string
  /** The HTTP method of the operation. */
  readonly method: Method
  /**
   * The URL without query and ids, for example `https://api.supportwire.app/api/oauth/v1/contacts/{id}`. A path passed
   * to `request()` is part of it, and of `operation`.
   */
  readonly urlTemplate: string
  /** The client's actor, if known. */
  readonly actor: Actor | undefined
  /** The page number, starting at 1, if the call belongs to a list. */
  readonly page: number | undefined
  /** The `context` option of the client. A connection store passes the key of the connection. */
  readonly context: unknown
}

/** Emitted when a call has ended. */
export interface OperationEndEvent extends OperationEvent {
  /** Duration of the call including waits, in milliseconds. */
  readonly duration: number
  /** Number of requests sent. */
  readonly attempts: number
  /** The HTTP status of the last response, if any. */
  readonly status: number | undefined
  /** The request id of the last response, if the service sent one. */
  readonly requestId: string | undefined
  /** The name of the error that the call rejects with. Undefined if it succeeded. */
  readonly error: string | undefined
  /** Whether a failed call might have had an effect. Undefined if it succeeded or the caller aborted it. */
  readonly outcome: Outcome | undefined
}

/** Emitted before a request is sent. */
export interface AttemptStartEvent extends OperationEvent {
  /** The attempt number, starting at 1. */
  readonly attempt: number
}

/** Emitted when a response, including its body, was received, or the request failed. */
export interface AttemptEndEvent extends AttemptStartEvent {
  /** Duration of the attempt, in milliseconds. */
  readonly duration: number
  /** The HTTP status of the response, if any. */
  readonly status: number | undefined
  /** The request id of the response, if the service sent one. */
  readonly requestId: string | undefined
  /** The name of the error. Undefined if the attempt succeeded. */
  readonly error: string | undefined
}

/** Emitted before a failed request is retried. */
export interface RetryEvent extends AttemptStartEvent {
  /** Delay before the retry, in milliseconds. */
  readonly wait: number
  /** The HTTP status if it is an error, otherwise the name of the error: a response can be cut off after status 200. */
  readonly reason: number | string
}

/** Emitted when a call waits because of a 429, and again if another 429 prolongs the wait. */
export interface WaitEvent extends OperationEvent {
  /**
   * Expected time until the call is sent, in milliseconds. 0 if it only waits for earlier calls of an unknown duration.
   */
  readonly wait: number
  /** The reason of the wait. A rate limit is the only one. */
  readonly reason: 'rate_limit'
}

/**
 * Functions for logs, metrics and traces. Errors they throw are ignored.
 *
 * @example
 * const logged = new SupportWorkspace({
 *   baseUrl,
 *   accessToken,
 *   hooks: { onOperationEnd: ({ operation, status, duration }) => console.log(operation, status, duration) },
 * })
 * await logged.me()
 */
export interface Hooks {
  /** Called when a call starts. A list starts one per page. */
  onOperationStart?(event: OperationEvent): void
  /** Called when a call has ended, with or without an error. */
  onOperationEnd?(event: OperationEndEvent): void
  /** Called before a request is sent. */
  onAttemptStart?(event: AttemptStartEvent): void
  /** Called when a response was received, or the request failed. */
  onAttemptEnd?(event: AttemptEndEvent): void
  /** Called before a failed request is retried. */
  onRetry?(event: RetryEvent): void
  /** Called when a call waits for a rate limit. */
  onWait?(event: WaitEvent): void
}

/** The event of a hook. */
export type EventOf<Name extends keyof Hooks> = Parameters<NonNullable<Hooks[Name]>>[0]

/** Calls a hook if it is defined. */
export function emit<Name extends keyof Hooks>(hooks: Hooks, name: Name, createEvent: () => EventOf<Name>): void {
  notify(() => {
    const hook = hooks[name] as ((event: unknown) => unknown) | undefined
    return hook?.call(hooks, createEvent())
  })
}

/** The names of the hooks. */
export const hookNames = {
  onOperationStart: true,
  onOperationEnd: true,
  onAttemptStart: true,
  onAttemptEnd: true,
  onRetry: true,
  onWait: true,
} satisfies Record<keyof Hooks, true>

/** Joins several hooks into one object. Each event calls them in their order. */
export function joinHooks(...all: readonly Hooks[]): Hooks {
  const joined = Object.keys(hookNames).map((name) => [
    name,
    (event: OperationEvent) => {
      for (const hooks of all) emit(hooks, name as keyof Hooks, () => event as never)
    },
  ])
  return Object.fromEntries(joined)
}
