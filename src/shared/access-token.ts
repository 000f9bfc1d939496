import { placeholder } from '../errors/redact.ts'
import { parseScopes, type Scope } from './scopes.ts'

interface AccessTokenDetails extends Pick<AccessToken, 'accessToken' | 'baseUrl' | 'clientId' | 'tokenType' | 'scope'> {
  readonly requestedScope?: string | undefined
}

/**
 * The result of a login: a long-lived, opaque access token, without a refresh token or an expiry
 * ([specification](docs/service.md#tokens)).
 *
 * If you print, inspect, clone or serialize the object, the token is `[redacted]`. Read `token.accessToken` to store
 * the token.
 */
export class AccessToken {
  /** The secret token, for `new SupportWorkspace({ accessToken })` and for your storage. */
  declare readonly accessToken: string
  /** The service that issued the token, as the app's normalized `baseUrl`. Send the token only to this URL. */
  readonly baseUrl: string
  /** The client id of the app that the token was issued to. */
  readonly clientId: string
  /** The token type as sent by the service, for example `Bearer`. */
  readonly tokenType: string
  /**
   * The granted scopes, separated by spaces. If the service names none, these are the requested scopes (RFC 6749,
   * section 5.1). After `exchangeCode` they are empty in this case, because a browser could have changed the requested
   * scopes.
   */
  readonly scope: string
  /** The granted scopes, as a list. */
  readonly scopes: readonly Scope[]
  /** The requested scopes. Empty if they are unknown, because `exchangeCode` was called without `scope`. */
  readonly requestedScopes: readonly Scope[]
  /**
   * The requested scopes that were not granted. A member's role can remove `:write` scopes that require an admin
   * ([specification](docs/service.md#actors)).
   */
  readonly missingScopes: readonly Scope[]

  /** Only a login creates tokens. */
  declare private readonly opaque: never

  /** @internal */
  constructor(details: AccessTokenDetails) {
    const { accessToken } = details
    // An accessor that is not enumerable, so that nothing prints it, and without a private field, which a proxy lacks.
    Object.defineProperty(this, 'accessToken', { get: () => accessToken })
    this.baseUrl = details.baseUrl
    this.clientId = details.clientId
    this.tokenType = details.tokenType
    this.scopes = parseScopes(details.scope)
    this.scope = this.scopes.join(' ')
    this.requestedScopes = parseScopes(details.requestedScope ?? '')
    this.missingScopes = this.requestedScopes.filter((scope) => !this.scopes.includes(scope))
    printAsJson('AccessToken', this)
  }

  /** Returns the token's details without the secret. */
  toJSON(): Record<string, unknown> {
    const { baseUrl, clientId, tokenType, scope, scopes, requestedScopes, missingScopes } = this
    return { accessToken: placeholder, baseUrl, clientId, tokenType, scope, scopes, requestedScopes, missingScopes }
  }
}

/**
 * Makes Node's console print an instance as what its `toJSON` returns. Set on the instance, because bundlers keep a
 * class with a computed method even if it is not used.
 */
export function printAsJson(name: string, instance: { toJSON(): unknown }): void {
  const print = (_depth: unknown, options: unknown, inspect: unknown) => {
    const data = instance.toJSON()
    return `${name} ${typeof inspect === 'function' ? inspect(data, options) : JSON.stringify(data)}`
  }
  Object.defineProperty(instance, Symbol.for('nodejs.util.inspect.custom'), { value: print })
}
