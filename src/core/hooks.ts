import type { Outcome } from '../errors/index.ts'
import type { Actor } from '../shared/actor.ts'
import { notify } from '../shared/notify.ts'
import type { Method } from './operation.ts'

/**
 * The properties of every event. Headers, bodies, ids, queries, cursors and tokens are left out, so only your `context`
 * can contain one.
 */
export interface OperationEvent {
  /** A number that only the events of this call have. Later calls have higher numbers. */
  readonly callId: number
  /** The operation's id, for example `conversations.list`. */
  readonly operation: string
  /** The HTTP method, for example `GET`. */
  readonly method: Method
  /**
   * The URL without query and ids, for example `https://api.supportwire.app/api/oauth/v1/contacts/{id}`. A path that
   * you pass to `request()` is part of `urlTemplate` and `operation`.
   */
  readonly urlTemplate: string
  /** The client's actor, if known. */
  readonly actor: Actor | undefined
  /** The page number, starting at 1, if the call belongs to a list. */
  readonly page: number | undefined
  /** The `context` option of the client. In a connection store, by default the key of the connection. */
  readonly context: unknown
}

/** Emitted when a call has succeeded or failed. */
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
  /**
   * The HTTP status if it is an error status, otherwise the name of the error. For example, a response with status 200
   * can be cut off.
   */
  readonly reason: number | string
}

/**
 * Emitted when the rate limiter holds a call back because of a rate or a pause, and again when a long pause begins. The
 * wait after a 429 is in a `RetryEvent`.
 */
export interface WaitEvent extends OperationEvent {
  /** Expected time until the call is sent, in milliseconds. */
  readonly wait: number
  /** Why the call waits. The rate limit is the only reason. */
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
  /**
   * Called when a call starts. A list starts a call for each page. Middleware starts a call each time that it sends the
   * call, so a call that it does not send starts none.
   */
  onOperationStart?(event: OperationEvent): void
  /** Called when a call has succeeded or failed. */
  onOperationEnd?(event: OperationEndEvent): void
  /** Called before a request is sent. */
  onAttemptStart?(event: AttemptStartEvent): void
  /** Called when a response was received, or the request failed. */
  onAttemptEnd?(event: AttemptEndEvent): void
  /** Called before a failed request is retried. */
  onRetry?(event: RetryEvent): void
  /** Called when the rate limiter holds a call back. */
  onWait?(event: WaitEvent): void
}

/** The event of a hook. */
export type EventOf<Name extends keyof Hooks> = Parameters<NonNullable<Hooks[Name]>>[0]

export function emit<Name extends keyof Hooks>(hooks: Hooks, name: Name, createEvent: () => EventOf<Name>): void {
  notify(() => {
    const hook = hooks[name] as ((event: unknown) => unknown) | undefined
    return hook?.call(hooks, createEvent())
  })
}

export const hookNames = {
  onOperationStart: true,
  onOperationEnd: true,
  onAttemptStart: true,
  onAttemptEnd: true,
  onRetry: true,
  onWait: true,
} satisfies Record<keyof Hooks, true>

/** Returns hooks that call all given hooks, in their order. */
export function joinHooks(...all: readonly Hooks[]): Hooks {
  const joined = Object.keys(hookNames).map((name) => [
    name,
    (event: OperationEvent) => {
      for (const hooks of all) emit(hooks, name as keyof Hooks, () => event as never)
    },
  ])
  return Object.fromEntries(joined)
}
