import { InvalidArgumentError, LoginError, NetworkError, TimeoutError } from '../errors/index.ts'
import { toError } from '../errors/redact.ts'
import type { AccessToken } from '../shared/access-token.ts'
import { createSealer } from '../shared/seal.ts'
import { type LoginCookie, loginCookie } from './login-cookie.ts'
import { type LoginFailure, loginErrorPage, statusOf } from './login-error-page.ts'
import {
  type LoginContext,
  type LoginHandlersOptions,
  type LoginStartOptions,
  readHandlersOptions,
  readStartOptions,
  safeReturnTo,
  startPathOf,
  withReturnTo,
} from './login-handlers-options.ts'
import type { OAuthApp } from './oauth-app.ts'
import {
  fromTransactionRecord,
  isComplete,
  markComplete,
  missingTransaction,
  openedValue,
  type TransactionRecord,
  toTransactionRecord,
} from './transaction.ts'

/**
 * The two request handlers of a login. They are plain functions that keep the login in a cookie, so any number of
 * servers can share a login without a session store.
 */
export interface LoginHandlers<Data = unknown> {
  /**
   * Handles GET and POST of the start URL: redirects the browser to the consent screen. A speculative request
   * (`Sec-Purpose: prefetch`) gets a 503 and starts no login.
   *
   * Some frameworks pass a second argument to a handler, so an object that has none of the options is ignored.
   *
   * @throws InvalidArgumentError when `request` or an option is invalid, or when the login is too large for a cookie
   */
  readonly start: (request: Request, options?: LoginStartOptions<Data>) => Promise<Response>
  /** Handles GET of the redirect URI: finishes the login and calls `onConnected`, or `onError`. */
  readonly callback: (request: Request) => Promise<Response>
}

/** The content of a login's cookie. */
interface SealedLogin {
  readonly transaction: TransactionRecord
  readonly returnTo: string
  /** The path that the login was started at, for the link on the error page. */
  readonly startPath?: string | undefined
  readonly data?: unknown
}

/**
 * Creates the request handlers of a login, for any framework whose handlers take a web-standard `Request` and return a
 * `Response`. Use `toNodeListener` for `node:http` and Express.
 *
 * The transaction is kept in an encrypted cookie of the browser that started the login. The cookie is HttpOnly and
 * SameSite=Lax, and also Secure if the redirect URI is https. A new login replaces it, and its callback clears it. A
 * callback with another `state`, such as the one of an older tab, fails with `state_mismatch` and leaves it alone. A
 * callback in another browser fails, because this browser has no cookie. A second callback with the same cookie fails
 * with `transaction_used`, for example at the same time or after a denial. In another process it fails because the
 * service accepts a code only once. After a completed login, further callbacks in the same process redirect to
 * `returnTo` instead, without `onError`.
 *
 * Only the path of a request is used. Its scheme and host are ignored, because behind a proxy they differ from the URL
 * in the browser.
 *
 * @example
 * const login = createLoginHandlers<{ userId: string }>(app, {
 *   secret,
 *   scope: ['conversations:read'],
 *   onConnected: async (token, { data }) => console.log(data?.userId, (await store.save(token)).key),
 * })
 * const response = await login.start(request, { data: { userId: 'ada' } })
 *
 * @throws InvalidArgumentError when an option is invalid
 */
export function createLoginHandlers<Data = unknown>(
  app: OAuthApp,
  options: LoginHandlersOptions<Data>,
): LoginHandlers<Data> {
  checkApp(app)
  const { defaults, secret, onConnected, onError, defaultReturnTo, cookieName } = readHandlersOptions(options)
  const sealer = createSealer(secret, 'login cookie')
  const cookieOf = loginCookie(app, cookieName)

  async function start(request: Request, given?: LoginStartOptions<Data>): Promise<Response> {
    checkRequest(request)
    if (request.method !== 'GET' && request.method !== 'POST') return notAllowed('GET, POST')
    if (isSpeculative(request))
      return withSecurityHeaders(new Response(null, { status: 503, headers: { vary: 'sec-purpose' } }), [])
    // Everything is read before the first await, because the caller can change or reuse the options.
    const { data, returnTo = requestedReturnTo(request.url), ...login } = readStartOptions(given)
    const { scope = defaults.scope, actor = defaults.actor, parameters = defaults.parameters } = login
    const startPath = startPathOf(request.url)
    const { url, transaction } = await app.startLogin({ scope, actor, parameters })
    const cookie = await cookieOf()
    const value = await seal({ transaction: toTransactionRecord(transaction), returnTo, startPath, data }, cookie)
    return withSecurityHeaders(seeOther(url), [cookie.set(value, transaction.expiresAt - transaction.createdAt)])
  }

  /** Returns the path that the start URL asks for, if it is safe. */
  function requestedReturnTo(url: string): string {
    const requested = new URL(url).searchParams.getAll('return_to')
    return (requested.length === 1 ? safeReturnTo(requested[0]) : undefined) ?? defaultReturnTo
  }

  /** Encrypts a login for its cookie. If there is too little space, drops the paths that the browser sent. */
  async function seal(login: SealedLogin, { fits }: LoginCookie): Promise<string> {
    const { transaction, returnTo, data } = login
    for (const smaller of [login, { transaction, returnTo, data }, { transaction, returnTo: defaultReturnTo, data }]) {
      const value = await sealer.seal(smaller, transaction.expiresAt)
      if (fits(value)) return value
    }
    throw new InvalidArgumentError(
      data === undefined ? 'scope' : 'data',
      'The login does not fit in a cookie.',
      'Request fewer scopes, use a shorter `returnTo`, or store `data` in your session or database and pass its id.',
    )
  }

  async function callback(request: Request): Promise<Response> {
    checkRequest(request)
    if (request.method !== 'GET') return notAllowed('GET')
    const state = new URL(request.url).searchParams.get('state') ?? ''
    const cleared: string[] = []
    let login: SealedLogin | undefined
    let token: AccessToken
    try {
      const cookie = await cookieOf()
      const sealed = cookie.read(request.headers.get('cookie'))
      if (sealed === undefined) throw missingTransaction()
      const opened = await sealer.open(sealed)
      const latest = opened.ok ? (opened.value as SealedLogin) : undefined
      // The callback of an older login, or a forged one, must not end the login that the cookie belongs to.
      if (latest === undefined || latest.transaction.state === state) cleared.push(cookie.clear)
      if (latest?.transaction.state === state) login = latest
      const { transaction } = openedValue(opened) as SealedLogin
      // The request's signal is not passed: aborting now would lose a token that the service has already issued.
      token = await app.finishLogin(request, fromTransactionRecord(transaction))
    } catch (error) {
      if (!isLoginFailure(error)) throw error
      // For example, the visitor has reloaded the page after a completed login.
      if (isComplete(state)) return withSecurityHeaders(seeOther(context().returnTo), cleared)
      // biome-ignore lint/suspicious/noConsole: somebody must hear that the app is not set up correctly
      if (onError === undefined && error.remedy === 'fix') console.error(error)
      const response = (await report(error, statusOf(error))) ?? failurePage(error)
      return withSecurityHeaders(response, cleared)
    }
    try {
      const result = checkResult('onConnected', await onConnected(token, context()))
      markComplete(state)
      return withSecurityHeaders(result ?? seeOther(context().returnTo), cleared)
    } catch (error) {
      const response = await report(toError(error, 'onConnected'), 500)
      if (response === undefined) throw error
      return withSecurityHeaders(response, cleared)
    }

    function context(): LoginContext<Data> {
      // The compiler checked this type when `start` was called.
      const data = login?.data as Data | undefined
      return { request, returnTo: login?.returnTo ?? defaultReturnTo, data }
    }

    async function report(error: Error, status: number): Promise<Response | undefined> {
      return checkResult('onError', await onError?.(error, { ...context(), status }))
    }

    function failurePage(failure: LoginFailure): Response {
      const { startPath, returnTo } = login ?? {}
      return loginErrorPage(failure, startPath && returnTo ? withReturnTo(startPath, returnTo) : defaultReturnTo)
    }
  }

  return { start, callback }
}

function checkApp(app: unknown): void {
  if (typeof (app as Partial<OAuthApp> | null | undefined)?.finishLogin === 'function') return
  throw new InvalidArgumentError('app', '`app` must be an `OAuthApp`.', 'Create it with your client secret.')
}

/** Checks that a request is of the web platform, possibly of another realm or package. Never quotes its URL. */
function checkRequest(request: unknown): void {
  const { url, headers } = (request ?? {}) as Partial<Request>
  if (typeof url === 'string' && URL.canParse(url) && typeof headers?.get === 'function') return
  throw new InvalidArgumentError(
    'request',
    '`request` must be a web `Request`.',
    'Pass a `Request` with an absolute URL. For node:http and Express, wrap the handler in `toNodeListener`.',
  )
}

/** Whether a browser prefetches the page. */
function isSpeculative({ headers }: Request): boolean {
  return ['sec-purpose', 'purpose', 'x-moz'].some((name) => /\bprefetch\b/i.test(headers.get(name) ?? ''))
}

function isLoginFailure(error: unknown): error is LoginFailure {
  return error instanceof LoginError || error instanceof NetworkError || error instanceof TimeoutError
}

/** Checks for the properties of a `Response`, which can be of another realm or package. */
function checkResult(name: string, result: unknown): Response | undefined {
  if (result === undefined) return undefined
  const { status, headers } = (result ?? {}) as Partial<Response>
  const isStatus = typeof status === 'number' && status >= 200 && status <= 599
  if (isStatus && typeof headers?.forEach === 'function') return result as Response
  throw new InvalidArgumentError(
    name,
    `\`${name}\` returned a value that is not a \`Response\`.`,
    'Return a `Response`, or nothing.',
  )
}

function notAllowed(allow: string): Response {
  return withSecurityHeaders(new Response(null, { status: 405, headers: { allow } }), [])
}

/** Redirects with 303, so that the browser continues a POST with a GET (RFC 9110, section 15.4.4). */
function seeOther(location: string): Response {
  return new Response(null, { status: 303, headers: { location } })
}

/** Copies the response, as its headers can be immutable. URLs of a login must not be cached or sent as a referrer. */
function withSecurityHeaders(response: Response, setCookies: readonly string[]): Response {
  const headers = new Headers(response.headers)
  headers.set('cache-control', 'no-store')
  headers.set('referrer-policy', 'no-referrer')
  for (const cookie of setCookies) headers.append('set-cookie', cookie)
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}
