// src/oauth is the login: app options, start, callback, code exchange, transaction, request handlers, Node adapter. It
// does not use src/connections.

import { checkSignal } from '../core/index.ts'
import { InvalidArgumentError, LoginError } from '../errors/index.ts'
import { placeholder } from '../errors/redact.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { type AccessToken, printAsJson } from '../shared/access-token.ts'
import { bindMethods } from '../shared/bind-methods.ts'
import {
  type Check,
  type Checked,
  checkFlag,
  checkFunction,
  checkMilliseconds,
  checkOneOf,
  checkText,
  readOptions,
} from '../shared/check-options.ts'
import { isPublicRuntime } from '../shared/environment.ts'
import type { WebFetch } from '../shared/web-types.ts'
import { type CommonAppOptions, commonChecks, readAppSettings } from './app-options.ts'
import { checkCallback, type LoginCallback } from './callback.ts'
import { type ClientAuthentication, clientCredentials } from './client-authentication.ts'
import { type ExchangeSettings, exchangeCode } from './code-exchange.ts'
import type { AuthorizationCodeGrant } from './public-oauth-app.ts'
import { type LoginRequest, type StartedLogin, startLogin } from './start-login.ts'
import type { LoginTransaction } from './transaction.ts'

/** The options of an `OAuthApp`. */
export interface OAuthAppOptions extends CommonAppOptions {
  /** The app's secret. Keep it on a server, and use `PublicOAuthApp` in a browser. */
  readonly clientSecret: string
  /**
   * How the app authenticates to the token endpoint: in the form body ([specification](docs/service.md#login)), or with
   * HTTP Basic ([reference](docs/service.md#login)).
   * @default 'client_secret_post'
   */
  readonly clientAuthentication?: ClientAuthentication | undefined
  /**
   * Sends the code exchange; called as `fetch(url, init)`. Use it for a proxy or a test. It must not follow redirects.
   * @default globalThis.fetch
   */
  readonly fetch?: WebFetch | undefined
  /**
   * Timeout of the code exchange, including reading the response, in milliseconds.
   * @default 30_000
   */
  readonly timeout?: number | undefined
  /**
   * Allows a client secret in a browser, where every visitor can read it.
   * @default false
   */
  readonly dangerouslyAllowSecretInBrowser?: boolean | undefined
}

/** The options of `finishLogin` and `exchangeCode`. */
export interface ExchangeOptions {
  /** Aborts the exchange, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

const exchangeChecks = { signal: checkSignal } satisfies Record<keyof ExchangeOptions, Check<unknown>>

function optionChecks() {
  return {
    ...commonChecks,
    clientSecret: checkText,
    clientAuthentication: (name, method) => checkOneOf(name, method, ['client_secret_post', 'client_secret_basic']),
    fetch: checkFunction<WebFetch>,
    timeout: checkMilliseconds,
    dangerouslyAllowSecretInBrowser: checkFlag,
  } satisfies Record<keyof OAuthAppOptions, Check<unknown>>
}

/**
 * An OAuth app with its client secret, for use on a server. Starts and finishes logins (authorization code grant with
 * PKCE: RFC 6749, RFC 7636; [specification](docs/service.md#login)).
 *
 * @example
 * const app = new OAuthApp({ baseUrl, clientId, clientSecret, redirectUri })
 * const { url, transaction } = await app.startLogin({ scope: ['conversations:read'], actor: 'self' })
 * // The admin approves in the browser, and returns to your redirect URI.
 * const callbackUrl = await openInBrowser(url)
 * const token = await app.finishLogin(callbackUrl, transaction)
 *
 * @throws InvalidArgumentError when an option is invalid, or in a browser
 */
export class OAuthApp {
  readonly #settings: ExchangeSettings

  /** The service's URL. */
  readonly baseUrl: string
  /** The client id of the registered app. */
  readonly clientId: string
  /** The URL that the browser returns to after consent. */
  readonly redirectUri: string

  constructor(options: OAuthAppOptions) {
    const given = readOptions(options, optionChecks(), 'an `OAuthApp`')
    const clientSecret = checkSecret(given)
    const settings = readAppSettings(given)
    const { clientAuthentication = 'client_secret_post', fetch, timeout = 30_000 } = given
    const credentials = clientCredentials(clientAuthentication, settings.clientId, clientSecret)
    this.#settings = { ...settings, credentials, secrets: credentials.secrets, fetch, timeout }
    this.baseUrl = settings.baseUrl
    this.clientId = settings.clientId
    this.redirectUri = settings.redirectUri
    bindMethods(this)
    printAsJson('OAuthApp', this)
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
   * Checks the callback and exchanges its code for an access token. The exchange is sent once, because a code works
   * only once.
   *
   * @throws LoginError when the callback or the transaction is invalid, or the service rejects the login; see `reason`
   * @throws NetworkError when the connection fails
   * @throws TimeoutError when the response does not arrive in time
   */
  async finishLogin(
    callback: LoginCallback,
    transaction: LoginTransaction,
    options: ExchangeOptions = {},
  ): Promise<AccessToken> {
    const signal = signalOf(options)
    const grant = checkCallback(this.#settings, callback, transaction)
    const { scope } = transaction
    return exchangeCode(this.#settings, grant, { requestedScope: scope, defaultScope: scope }, signal)
  }

  /**
   * Finishes a login that a `PublicOAuthApp` started and whose callback it checked. Only accept the grant from a
   * request that your page made in the user's session, because it determines whose connection the token becomes.
   *
   * @throws LoginError `missing_parameter`, `redirect_uri_mismatch` (the grant has another redirect URI than this app),
   * and the reasons of the code exchange
   * @throws NetworkError when the connection fails
   * @throws TimeoutError when the response does not arrive in time
   */
  async exchangeCode(grant: AuthorizationCodeGrant, options: ExchangeOptions = {}): Promise<AccessToken> {
    const signal = signalOf(options)
    const { code, codeVerifier, scope } = checkGrant(grant, this.redirectUri)
    const secrets = [...this.#settings.secrets, code, codeVerifier]
    // The scopes come from the browser, so they do not show which scopes were granted.
    const scopes = { requestedScope: typeof scope === 'string' ? scope : undefined, defaultScope: '' }
    return exchangeCode(this.#settings, { code, codeVerifier, secrets }, scopes, signal)
  }

  /** Returns the app's options without the secret. */
  toJSON(): Record<string, unknown> {
    const { baseUrl, clientId, redirectUri } = this
    return { baseUrl, clientId, clientSecret: placeholder, redirectUri }
  }
}

/** @throws the reason of a signal that has aborted */
function signalOf(options: ExchangeOptions): AbortSignal | undefined {
  const { signal } = readOptions(options, exchangeChecks, 'a code exchange')
  throwIfAborted(signal)
  return signal
}

function checkSecret(given: Checked<ReturnType<typeof optionChecks>>): string {
  const clientSecret = given.clientSecret ?? checkText('clientSecret', undefined)
  if (isPublicRuntime() && !given.dangerouslyAllowSecretInBrowser) {
    throw new InvalidArgumentError(
      'clientSecret',
      'A client secret in a browser or a React Native app can be read by every user.',
      'Use `PublicOAuthApp` here and `exchangeCode` on your server.',
    )
  }
  return clientSecret
}

/** Checks a grant, which is untrusted JSON. RFC 7636, section 4.1, defines the format of the code verifier. */
function checkGrant(grant: AuthorizationCodeGrant, redirectUri: string): AuthorizationCodeGrant {
  const { code, codeVerifier } = (grant as Partial<AuthorizationCodeGrant> | null | undefined) ?? {}
  if (typeof code !== 'string' || code === '') throw invalidGrant('code')
  if (typeof codeVerifier !== 'string' || !/^[\w.~-]{43,128}$/.test(codeVerifier)) throw invalidGrant('codeVerifier')
  if (grant.redirectUri === redirectUri) return grant
  throw new LoginError("The grant's redirect URI does not match this app.", {
    reason: 'redirect_uri_mismatch',
    hint: 'Use the same `redirectUri` in the browser and on the server.',
  })
}

function invalidGrant(name: string): LoginError {
  return new LoginError(`The grant has no valid \`${name}\`.`, {
    reason: 'missing_parameter',
    hint: 'Send the complete result of `readCallback` to your server, unchanged.',
  })
}
