import { bindMethods } from '../shared/bind-methods.ts'
import { readOptions } from '../shared/check-options.ts'
import { type AppSettings, type CommonAppOptions, commonChecks, readAppSettings } from './app-options.ts'
import { checkCallback, type LoginCallback } from './callback.ts'
import { type LoginRequest, type StartedLogin, startLogin } from './start-login.ts'
import type { LoginTransaction } from './transaction.ts'

/** The options of a `PublicOAuthApp`. A client secret belongs on a server, in an `OAuthApp`. */
export type PublicOAuthAppOptions = CommonAppOptions

/** The result of a checked callback. Send it to your server, where `OAuthApp.exchangeCode` finishes the login. */
export interface AuthorizationCodeGrant {
  /** The one-time authorization code of the callback. */
  readonly code: string
  /** The code verifier of the login (RFC 7636). */
  readonly codeVerifier: string
  /** The redirect URI of the login. The server checks that it matches the `OAuthApp`. */
  readonly redirectUri: string
  /** The requested scopes, separated by spaces. Only used for `missingScopes` of the token. */
  readonly scope?: string | undefined
}

/**
 * An OAuth app without a client secret, for code that users can read: pages, browser extensions, native apps (a public
 * client in RFC 6749, section 2.1). It starts a login and checks the callback. Your server then exchanges the code,
 * with `OAuthApp.exchangeCode`.
 *
 * @throws InvalidArgumentError when an option is invalid
 */
export class PublicOAuthApp {
  readonly #settings: AppSettings

  /** The service's URL. */
  readonly baseUrl: string
  /** The client id of the registered app. */
  readonly clientId: string
  /** The URL that the browser returns to after consent. */
  readonly redirectUri: string

  constructor(options: PublicOAuthAppOptions) {
    this.#settings = readAppSettings(readOptions(options, commonChecks, 'a `PublicOAuthApp`'))
    this.baseUrl = this.#settings.baseUrl
    this.clientId = this.#settings.clientId
    this.redirectUri = this.#settings.redirectUri
    bindMethods(this)
  }

  /**
   * Starts a login with a new state, code verifier and code challenge (S256).
   *
   * @throws InvalidArgumentError when scope, actor or a parameter is invalid
   */
  startLogin(request: LoginRequest): Promise<StartedLogin> {
    return startLogin(this.#settings, request)
  }

  /**
   * Checks the callback of a login and returns the grant that your server needs to finish it. POST the grant to your
   * server immediately and over https, because anyone who has the grant and the client secret can get the token.
   *
   * @throws LoginError when the callback or the transaction is invalid, or the service rejects the login; see `reason`
   */
  readCallback(callback: LoginCallback, transaction: LoginTransaction): AuthorizationCodeGrant {
    const { code, codeVerifier } = checkCallback(this.#settings, callback, transaction)
    return { code, codeVerifier, redirectUri: transaction.redirectUri, scope: transaction.scope }
  }
}
