import type { Actor } from '../actor.ts'
import type { Outcome } from '../errors/index.ts'

/** What every event names. No event holds a URL, header, body, id, cursor or token. */
export interface OperationEvent {
  /** The operation's id, for example `conversations.list`. */
  readonly operation: string
  /** The client's actor, when it is known. */
  readonly actor: Actor | undefined
  /** The number of the page, from 1, in a call that pages. */
  readonly page: number | undefined
}

/** A call has ended. */
export interface OperationEndEvent extends OperationEvent {
  /** From call to parsed value, waits included, in ms. */
  readonly duration: number
  /** How many requests were sent. */
  readonly attempts: number
  /** The HTTP status of the last answer, when one came. */
  readonly status: number | undefined
  /** The service's id for the last request, when it sends one. */
  readonly requestId: string | undefined
  /** The name of the error that the call rejects with; undefined when it succeeded. */
  readonly error: string | undefined
  /** What is known of the effect of a failed call; undefined when it succeeded or the caller aborted it. */
  readonly outcome: Outcome | undefined
}

/** A request is about to be sent. */
export interface AttemptStartEvent extends OperationEvent {
  /** The number of the attempt, from 1. */
  readonly attempt: number
}

/** One request has been answered, body included, or has failed. */
export interface AttemptEndEvent extends AttemptStartEvent {
  /** In ms. */
  readonly duration: number
  readonly status: number | undefined
  readonly requestId: string | undefined
  /** The name of the error that ended it; undefined when it succeeded. */
  readonly error: string | undefined
}

/** A failed request will be sent again. */
export interface RetryEvent extends AttemptStartEvent {
  /** How long the client waits first, in ms. */
  readonly wait: number
  /** Why: the HTTP status, or the name of the error. */
  readonly reason: number | string
}

/** A call waits before it is sent, because the service has asked the client to slow down. */
export interface WaitEvent extends OperationEvent {
  /** How long until the rate limit is over, in milliseconds. 0 when only the calls that waited before it go first. */
  readonly wait: number
  /** Why it waits. */
  readonly reason: 'rate_limit'
}

/** Functions called as calls start, wait, retry and end, for logs, metrics and traces. One that throws never breaks a call. */
export interface Hooks {
  onOperationStart?(event: OperationEvent): void
  onOperationEnd?(event: OperationEndEvent): void
  onAttemptStart?(event: AttemptStartEvent): void
  onAttemptEnd?(event: AttemptEndEvent): void
  onRetry?(event: RetryEvent): void
  onWait?(event: WaitEvent): void
}

/** Calls one hook, if it is there. */
export function emit<Name extends keyof Hooks>(
  hooks: Hooks,
  name: Name,
  event: Parameters<NonNullable<Hooks[Name]>>[0],
): void {
  notify(() => (hooks[name] as ((event: unknown) => unknown) | undefined)?.call(hooks, event))
}

/** Calls a function of the caller's that only watches. What it throws, or rejects with, goes nowhere. */
export function notify(report: () => unknown): void {
  try {
    const result = report()
    if (result !== undefined) Promise.resolve(result).catch(() => {})
  } catch {}
}
