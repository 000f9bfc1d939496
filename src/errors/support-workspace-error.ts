/**
 * A registered symbol, so that `instanceof` works between the ESM and CommonJS builds and between installed versions.
 */
const brand: unique symbol = Symbol.for('support-workspace-sdk.error') as never

/**
 * The next step after a failure, in one word that a job engine can act on:
 *
 * - `retry`: send the call again, which is safe. If the error has `retryAfter`, wait that many seconds.
 * - `verify`: the write is unconfirmed. Check whether the service applied it before you send it again.
 * - `reconnect`: log in again. Requests with this token will fail.
 * - `fix`: correct the request, the code or the configuration. Until then, the call will fail again.
 */
export type Remedy = 'retry' | 'verify' | 'reconnect' | 'fix'

/** The constructor arguments of an error of this package, besides the message. */
export interface ErrorDetails {
  /** The next step, in one sentence. Appended to `message`. */
  readonly hint: string
  /**
   * What to do about the failure, in one word.
   *
   * @default 'fix'
   */
  readonly remedy?: Remedy
  /** The underlying error, redacted with `safeCause`. */
  readonly cause?: unknown
}

/**
 * The base class of all errors of this package.
 *
 * `message` includes the cause and the next step. Access tokens, client secrets, authorization codes and code verifiers
 * are removed from errors, in plain, percent-encoded and JSON form.
 *
 * `instanceof` works across copies of the package (ESM and CommonJS, or two installed versions).
 */
export class SupportWorkspaceError extends Error {
  /** The class name, which survives minification. */
  static readonly kind: string = 'SupportWorkspaceError'

  /** The next step, in one sentence. `message` ends with it. */
  declare readonly hint: string
  /** What to do about the failure, in one word. */
  readonly remedy: Remedy

  declare private readonly [brand]: readonly string[]

  constructor(message: string, details: ErrorDetails) {
    const { hint = '', remedy = 'fix', cause } = details
    super(`${message} ${hint}`, cause === undefined ? undefined : { cause })
    Object.defineProperty(this, 'hint', { value: hint })
    this.remedy = remedy
    Object.defineProperty(this, 'name', { value: new.target.kind, configurable: true, writable: true })
    Object.defineProperty(this, brand, { value: kindsOf(new.target) })
  }

  /** Returns a plain object for logs: name, message, hint and the properties of the class, without body and headers. */
  toJSON(): Record<string, unknown> {
    const { name, hint, cause } = this
    const message = this.message.endsWith(hint)
      ? this.message.slice(0, -hint.length || undefined).trimEnd()
      : this.message
    const json: Record<string, unknown> = { name, message, hint, ...(this as object) }
    if (cause instanceof Error) json.cause = { ...(cause as object), name: cause.name, message: cause.message }
    return json
  }

  /** @hidden */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // A user's subclass has no `kind` and is recognized by its prototype, like any class.
    if (!Object.hasOwn(this, 'kind')) return Function.prototype[Symbol.hasInstance].call(this, value)
    const kinds = (value as { [brand]?: unknown } | null | undefined)?.[brand]
    return Array.isArray(kinds) && kinds.includes(this.kind)
  }
}

function kindsOf(errorClass: typeof SupportWorkspaceError): string[] {
  const kinds: string[] = []
  for (let current = errorClass; typeof current?.kind === 'string'; current = Object.getPrototypeOf(current)) {
    if (Object.hasOwn(current, 'kind')) kinds.push(current.kind)
  }
  return kinds
}

/** Whether a value is an error of this package, including other copies and versions of it. */
export function isSupportWorkspaceError(value: unknown): value is SupportWorkspaceError {
  return value instanceof SupportWorkspaceError
}

/**
 * Whether a value is an error of this package whose remedy is `reconnect` or `fix`. A retry fails again, so its hint is
 * the next step.
 */
export function isLasting(value: unknown): value is SupportWorkspaceError {
  return isSupportWorkspaceError(value) && (value.remedy === 'reconnect' || value.remedy === 'fix')
}

/** An option or argument is invalid. Thrown before a request is sent. */
export class InvalidArgumentError extends SupportWorkspaceError {
  static override readonly kind: string = 'InvalidArgumentError'

  /** The name of the option or argument. */
  readonly argument: string
  /** `not-sent`, because arguments are checked before a request is sent. */
  readonly outcome: 'not-sent' = 'not-sent'

  constructor(argument: string, message: string, hint: string) {
    super(message, { hint })
    this.argument = argument
  }
}
