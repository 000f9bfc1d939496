import { parseScopes, type Scope } from '../scopes.ts'

export interface AccessTokenDetails {
  readonly accessToken: string
  readonly baseUrl: string
  readonly clientId: string
  readonly tokenType: string
  readonly scope: string
  readonly requestedScope?: string | undefined
}

/**
 * What a login ends with: a long-lived, opaque access token, without a refresh token or an expiry (specification,
 * section 5).
 *
 * Printed, inspected, cloned or as JSON it shows `[redacted]`: whoever stores the token names it, `token.accessToken`.
 */
export class AccessToken {
  readonly #accessToken: string

  /** The service that issued the token, as the app's normalized `baseUrl`. Send the token nowhere else. */
  readonly baseUrl: string
  /** The client id of the app that the token was issued to. */
  readonly clientId: string
  /** The type of the token as the service wrote it, for example `Bearer`. */
  readonly tokenType: string
  /** The granted scopes, separated by spaces. The requested ones when the service names none (RFC 6749, section 5.1). */
  readonly scope: string
  /** The granted scopes, as a list. */
  readonly scopes: readonly Scope[]
  /** The scopes that were asked for. Empty when that is not known here (`exchangeCode` without `scope`). */
  readonly requestedScopes: readonly Scope[]
  /**
   * The scopes that were asked for and not granted. A member's role takes `:write` scopes away that require an admin
   * (specification, section 5, rule 3).
   */
  readonly missingScopes: readonly Scope[]

  constructor(details: AccessTokenDetails) {
    this.#accessToken = details.accessToken
    this.baseUrl = details.baseUrl
    this.clientId = details.clientId
    this.tokenType = details.tokenType
    this.scope = details.scope
    this.scopes = parseScopes(details.scope)
    this.requestedScopes = parseScopes(details.requestedScope ?? '')
    this.missingScopes = this.requestedScopes.filter((scope) => !this.scopes.includes(scope))
  }

  /** The secret itself, for `new SupportWorkspace({ accessToken })` and for your storage. */
  get accessToken(): string {
    return this.#accessToken
  }

  /** The facts of the token, without the secret. */
  toJSON(): Record<string, unknown> {
    const { baseUrl, clientId, tokenType, scope, scopes, requestedScopes, missingScopes } = this
    return { accessToken: placeholder, baseUrl, clientId, tokenType, scope, scopes, requestedScopes, missingScopes }
  }

  [inspectSymbol](_depth: unknown, options: unknown, inspect: unknown): string {
    return printAs('AccessToken', this.toJSON(), options, inspect)
  }
}

/**
 * What Node's `util.inspect` and `console.log` ask an object for. The symbol is registered, so no Node module is needed;
 * elsewhere nobody asks.
 */
export const inspectSymbol: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** What stands in print, JSON and logs where a secret would. */
export const placeholder = '[redacted]'

/** A class name and plain data, printed as Node prints an instance. */
export function printAs(name: string, data: unknown, options: unknown, inspect: unknown): string {
  return `${name} ${typeof inspect === 'function' ? inspect(data, options) : JSON.stringify(data)}`
}
