import { expectNoState, validateAuthResponse } from 'oauth4webapi'
import { checkFlag, checkFunction, checkMilliseconds, checkObject, checkOptions, checkText } from '../check-options.ts'
import { InvalidArgumentError, LoginError } from '../errors/index.ts'
import type { WebAbortSignal, WebFetch } from '../web-types.ts'
import type { AccessToken } from './access-token.ts'
import { inspectSymbol, placeholder, printAs } from './access-token.ts'
import { type CommonAppOptions, readAppSettings } from './app-options.ts'
import { checkCallback, type LoginCallback } from './callback.ts'
import type { AuthorizationCodeGrant } from './public-oauth-app.ts'
import type { LoginRequest } from './start-login.ts'
import { type StartedLogin, startLogin } from './start-login.ts'
import { type ClientAuthentication, clientCredentials, type ExchangeSettings, requestToken } from './token-request.ts'
import { readTokenResponse } from './token-response.ts'
import type { LoginTransaction } from './transaction.ts'
import { encodedForms } from './untrusted-text.ts'

export interface OAuthAppOptions extends CommonAppOptions {
  /** The app's secret. It belongs on a server; a browser's app is a `PublicOAuthApp`. */
  readonly clientSecret: string
  /**
   * How the app proves itself to the token endpoint: in the form, as the specification shows (section 4), or by HTTP
   * Basic, which the reference allows too (section 1).
   * @default 'client_secret_post'
   */
  readonly clientAuthentication?: ClientAuthentication | undefined
  /**
   * Sends the code exchange; called as `fetch(url, init)`. For a proxy or a test double. It must not follow redirects.
   * @default the platform's `fetch`
   */
  readonly fetch?: WebFetch | undefined
  /**
   * How long the code exchange may take, answer included, in ms.
   * @default 30_000
   */
  readonly timeout?: number | undefined
  /**
   * Allows a client secret where every visitor can read it.
   * @default false
   */
  readonly dangerouslyAllowSecretInBrowser?: boolean | undefined
}

export interface ExchangeOptions {
  /** Ends the exchange at once; it then rejects with the signal's reason. */
  readonly signal?: WebAbortSignal | undefined
}

const exchangeOptionNames = { signal: true } satisfies Record<keyof ExchangeOptions, true>

/**
 * An OAuth app with its client secret, on your server: starts logins and finishes them (authorization code grant with
 * PKCE, RFC 6749 and RFC 7636; specification, section 5).
 *
 * @throws InvalidArgumentError when an option cannot be used, or when it is made in a browser
 */
export class OAuthApp {
  readonly #settings: ExchangeSettings

  /** The service's address. */
  readonly baseUrl: string
  /** The identifier of the registered app. */
  readonly clientId: string
  /** Where the browser returns after consent. */
  readonly redirectUri: string

  constructor(options: OAuthAppOptions) {
    // More than the options is fine: a record of the registered app can be spread into them.
    checkObject('options', options, 'Pass at least `baseUrl`, `clientId`, `clientSecret` and `redirectUri`.')
    const clientSecret = checkSecret(options)
    const settings = readAppSettings(options)
    const { clientAuthentication = 'client_secret_post', fetch: customFetch, timeout = 30_000 } = options
    if (customFetch !== undefined) checkFunction('fetch', customFetch)
    this.#settings = {
      ...settings,
      credentials: clientCredentials(clientAuthentication, settings.client.client_id, clientSecret),
      fetch: customFetch,
      timeout: checkMilliseconds('timeout', timeout),
    }
    this.baseUrl = settings.baseUrl
    this.clientId = settings.client.client_id
    this.redirectUri = settings.redirectUri
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
   * Checks the callback and exchanges its code for the access token. The exchange is sent once and never repeated: a
   * code is good for one try.
   *
   * @throws LoginError when callback, transaction or service refuse; `reason` says why
   * @throws NetworkError when no answer came
   * @throws TimeoutError when the answer was not there in time
   */
  async finishLogin(
    callback: LoginCallback,
    transaction: LoginTransaction,
    options: ExchangeOptions = {},
  ): Promise<AccessToken> {
    checkOptions('options', options, exchangeOptionNames)
    options.signal?.throwIfAborted()
    const { parameters, code, state, codeVerifier } = checkCallback(this.#settings, callback, transaction)
    const secrets = encodedForms([...this.#settings.credentials.secrets, code, state, codeVerifier])
    const answer = await requestToken(this.#settings, { parameters, codeVerifier, secrets }, options.signal)
    return readTokenResponse(this.#settings, answer, { requestedScope: transaction.scope, secrets })
  }

  /**
   * Finishes a login that a `PublicOAuthApp` started and whose callback it checked. Take the grant only from a request
   * that your own page made in its user's session: it decides whose connection the token becomes.
   *
   * @throws LoginError `missing_parameter`, `redirect_uri_mismatch` (the grant is for another address than this app's),
   * and each reason of the code exchange
   * @throws NetworkError when no answer came
   * @throws TimeoutError when the answer was not there in time
   */
  async exchangeCode(grant: AuthorizationCodeGrant, options: ExchangeOptions = {}): Promise<AccessToken> {
    checkOptions('options', options, exchangeOptionNames)
    const { code, codeVerifier, scope } = checkGrant(grant, this.redirectUri)
    // The state was compared where the login was started; what is left to check here is the code itself.
    const { server, client } = this.#settings
    const parameters = validateAuthResponse(server, client, new URLSearchParams({ code }), expectNoState)
    const secrets = encodedForms([...this.#settings.credentials.secrets, code, codeVerifier])
    const answer = await requestToken(this.#settings, { parameters, codeVerifier, secrets }, options.signal)
    const requestedScope = typeof scope === 'string' ? scope : undefined
    return readTokenResponse(this.#settings, answer, { requestedScope, secrets })
  }

  /** The app without its secret. */
  toJSON(): Record<string, unknown> {
    const { baseUrl, clientId, redirectUri } = this
    return { baseUrl, clientId, clientSecret: placeholder, redirectUri }
  }

  [inspectSymbol](_depth: unknown, options: unknown, inspect: unknown): string {
    return printAs('OAuthApp', this.toJSON(), options, inspect)
  }
}

function checkSecret(options: OAuthAppOptions): string {
  if (options.clientSecret === undefined) {
    throw new InvalidArgumentError(
      'clientSecret',
      'An `OAuthApp` needs a client secret.',
      'Pass it; or, where there is none, use `PublicOAuthApp` and let your server exchange the code.',
    )
  }
  const isAllowed = checkFlag('dangerouslyAllowSecretInBrowser', options.dangerouslyAllowSecretInBrowser)
  if (isPublicPlace() && !isAllowed) {
    throw new InvalidArgumentError(
      'clientSecret',
      'A client secret in a browser or a React Native app can be read by everybody who uses it.',
      'Use `PublicOAuthApp` here and `exchangeCode` on your server.',
    )
  }
  return checkText('clientSecret', options.clientSecret)
}

/** A grant comes from outside, as JSON: nothing about it is taken for granted. The verifier by RFC 7636, section 4.1. */
function checkGrant(grant: AuthorizationCodeGrant, redirectUri: string): AuthorizationCodeGrant {
  const { code, codeVerifier } = (grant as Partial<AuthorizationCodeGrant> | null | undefined) ?? {}
  if (typeof code !== 'string' || code === '') throw incomplete('`code`')
  if (typeof codeVerifier !== 'string' || !/^[\w.~-]{43,128}$/.test(codeVerifier)) throw incomplete('`codeVerifier`')
  if (grant.redirectUri === redirectUri) return grant
  throw new LoginError("The grant is for another redirect URI than this app's.", {
    reason: 'redirect_uri_mismatch',
    hint: 'Use one `redirectUri` in the browser and on the server.',
  })
}

function incomplete(what: string): LoginError {
  return new LoginError(`The grant has no usable ${what}.`, {
    reason: 'missing_parameter',
    hint: 'Send what `readCallback` gave, whole and unchanged.',
  })
}

/**
 * Whether this code runs where its users can read it: in a page, a worker of one, or a React Native app.
 *
 * Evaluated at construction, never at import. Cloudflare Workers and Deno have a `WorkerGlobalScope` as well, but do not
 * call themselves Mozilla, as every browser does.
 */
export function isPublicPlace(): boolean {
  const scope = globalThis as {
    window?: { document?: unknown }
    WorkerGlobalScope?: unknown
    navigator?: { userAgent?: unknown; product?: unknown }
  }
  if (scope.window?.document !== undefined || scope.navigator?.product === 'ReactNative') return true
  return typeof scope.WorkerGlobalScope === 'function' && String(scope.navigator?.userAgent).startsWith('Mozilla/')
}
