import { checkObject } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { type AppSettings, type CommonAppOptions, readAppSettings } from './app-options.ts'
import { checkCallback, type LoginCallback } from './callback.ts'
import type { LoginRequest } from './start-login.ts'
import { type StartedLogin, startLogin } from './start-login.ts'
import type { LoginTransaction } from './transaction.ts'

export interface PublicOAuthAppOptions extends CommonAppOptions {
  /** A public app has none: the secret belongs to `OAuthApp`, on your server. */
  readonly clientSecret?: never
}

/** What the part without a secret hands to the part with it, which finishes the login with `app.exchangeCode`. */
export interface AuthorizationCodeGrant {
  /** The one-time code of the callback. */
  readonly code: string
  /** The verifier of this login (RFC 7636). */
  readonly codeVerifier: string
  /** The redirect URI of this login. The server compares it with its own. */
  readonly redirectUri: string
  /** The scopes that were asked for, separated by spaces. Serves `missingScopes` of the token only. */
  readonly scope?: string | undefined
}

/**
 * An app without its client secret, for where users can read the code: pages, browser extensions, native apps (a public
 * client in RFC 6749, section 2.1). It starts a login and reads the callback; the code exchange needs the secret and is
 * made by your server, with `OAuthApp` and `exchangeCode`.
 *
 * @throws InvalidArgumentError when an option cannot be used
 */
export class PublicOAuthApp {
  readonly #settings: AppSettings

  /** The service's address. */
  readonly baseUrl: string
  /** The identifier of the registered app. */
  readonly clientId: string
  /** Where the browser returns after consent. */
  readonly redirectUri: string

  constructor(options: PublicOAuthAppOptions) {
    checkObject('options', options, 'Pass at least `baseUrl`, `clientId` and `redirectUri`.')
    if (options.clientSecret !== undefined) {
      throw new InvalidArgumentError(
        'clientSecret',
        'A `PublicOAuthApp` takes no client secret.',
        'On a server use `OAuthApp`; in a browser leave the secret out.',
      )
    }
    this.#settings = readAppSettings(options)
    this.baseUrl = this.#settings.baseUrl
    this.clientId = this.#settings.client.client_id
    this.redirectUri = this.#settings.redirectUri
  }

  /**
   * Begins a login: state, code verifier and code challenge (S256) are made anew each time.
   *
   * @throws InvalidArgumentError when scope, actor or a parameter cannot be used
   */
  startLogin(request: LoginRequest): Promise<StartedLogin> {
    return startLogin(this.#settings, request)
  }

  /**
   * Checks the callback of a login and gives what your server needs to finish it. POST it there at once, over https:
   * with it and the client secret the token is had.
   *
   * @throws LoginError each reason that comes before the code exchange
   */
  readCallback(callback: LoginCallback, transaction: LoginTransaction): AuthorizationCodeGrant {
    const { code, codeVerifier } = checkCallback(this.#settings, callback, transaction)
    return { code, codeVerifier, redirectUri: transaction.redirectUri, scope: transaction.scope }
  }
}
