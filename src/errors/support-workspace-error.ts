/**
 * The brand is registered, so that an error made by the ESM copy of this package is recognised by the CommonJS copy,
 * and by another installed version of it.
 */
const brand: unique symbol = Symbol.for('support-workspace-sdk.error') as never

export interface ErrorDetails {
  /** One sentence that names the next step. It is also the end of `message`. */
  readonly hint: string
  /** A copy of what went wrong below, made with `safeCause`. */
  readonly cause?: unknown
}

/**
 * The base of every error that this package throws.
 *
 * `message` names the cause and the next step. No error holds an access token, client secret, authorization code or
 * code verifier, in any printed, inspected or serialised form.
 *
 * `instanceof` works across copies of the package (ESM and CommonJS, two versions in one tree).
 */
export class SupportWorkspaceError extends Error {
  /** The class name, kept through minification. */
  static readonly kind: string = 'SupportWorkspaceError'

  /** One sentence that names the next step. `message` ends with it, so a log of the error prints it once. */
  declare readonly hint: string

  declare private readonly [brand]: readonly string[]

  constructor(message: string, details: ErrorDetails) {
    super(`${message} ${details.hint}`, details.cause === undefined ? undefined : { cause: details.cause })
    Object.defineProperty(this, 'hint', { value: details.hint })
    Object.defineProperty(this, 'name', { value: new.target.kind, configurable: true, writable: true })
    Object.defineProperty(this, brand, { value: kindsOf(new.target) })
  }

  /** A plain form for logs: name, message, hint and the properties of the class. No body, no headers. */
  toJSON(): Record<string, unknown> {
    const { name, hint, cause } = this
    const message = this.message.endsWith(hint)
      ? this.message.slice(0, -hint.length || undefined).trimEnd()
      : this.message
    const json: Record<string, unknown> = { name, message, hint, ...(this as object) }
    if (cause instanceof Error) json.cause = { ...(cause as object), name: cause.name, message: cause.message }
    return json
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // A subclass of the user's own has no kind of its own and is recognised by its prototype, as any class is.
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

/** Whether a value is an error of this package, of any copy or version of it. */
export function isSupportWorkspaceError(value: unknown): value is SupportWorkspaceError {
  return value instanceof SupportWorkspaceError
}

/** An option or argument cannot be used. Thrown before anything is sent. */
export class InvalidArgumentError extends SupportWorkspaceError {
  static override readonly kind: string = 'InvalidArgumentError'

  /** The name of the option or argument. */
  readonly argument: string
  /** Nothing was sent. */
  readonly outcome: 'not-sent' = 'not-sent'

  constructor(argument: string, message: string, hint: string) {
    super(message, { hint })
    this.argument = argument
  }
}
