import { ConnectionError, InvalidArgumentError, LoginError, TimeoutError } from '../errors/index.ts'
import type { WebRequest, WebResponse } from '../web-types.ts'
import type { AccessToken } from './access-token.ts'
import { loginCookies } from './login-cookies.ts'
import { type LoginFailure, loginErrorPage } from './login-error-page.ts'
import { checkLoginRequest, type LoginRequest } from './login-request.ts'
import type { OAuthApp } from './oauth-app.ts'
import { safeReturnTo } from './return-to.ts'
import { createSealer, type SealSecret } from './seal.ts'
import { openedValue } from './seal-transaction.ts'
import { fromRecord, missingTransaction } from './serialize-transaction.ts'
import { type LoginTransaction, toRecord } from './transaction.ts'

/** A response, or nothing, which leaves the answer to the handler. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is welcome here
export type HandlerResult = WebResponse | void | Promise<WebResponse | void>

export interface LoginHandlersOptions extends LoginRequest {
  /**
   * Seals the login on its way, in a cookie. At least 32 characters, for example from `openssl rand -base64 32`; the same
   * on every server. Several for rotation: the first seals, every one opens.
   */
  readonly secret: SealSecret
  /**
   * The login has ended well: store the token. Answer with a response of your own, or with nothing to send the browser
   * on to `returnTo`. What it throws is thrown by the handler, for your framework to deal with.
   */
  readonly onConnected: (
    token: AccessToken,
    context: { readonly request: WebRequest; readonly returnTo: string },
  ) => HandlerResult
  /**
   * The login has failed: log it. Answer with a response of your own, or with nothing for a plain page that names the
   * reason (400, 403 or 502).
   */
  readonly onError?: ((error: LoginFailure, context: { readonly request: WebRequest }) => HandlerResult) | undefined
  /**
   * Where the browser goes after the login, a path of your own site. The start address can name another,
   * `?return_to=/inbox`; one that leaves the site is ignored.
   * @default '/'
   */
  readonly returnTo?: string | undefined
  /**
   * What the cookies' names begin with, after `__Host-` where that is possible.
   * @default 'support_login'
   */
  readonly cookieName?: string | undefined
}

/** Two request handlers. They need no `this` and keep nothing in memory, so any number of servers can share a login. */
export interface LoginHandlers {
  /** Answers GET and POST by sending the browser to the consent screen. */
  readonly start: (request: WebRequest) => Promise<WebResponse>
  /** Answers the GET of the redirect URI: finishes the login and calls `onConnected`, or `onError`. */
  readonly callback: (request: WebRequest) => Promise<WebResponse>
}

/**
 * A login for any framework whose handlers take a web-standard `Request` and give a `Response`; others through
 * `toNodeListener`.
 *
 * The transaction travels in a sealed cookie of the browser that began it: HttpOnly, SameSite=Lax, Secure unless the
 * redirect URI is http, gone with the login. A callback in another browser finds no cookie. A sealed cookie cannot be
 * marked as used; a replayed callback fails because the cookie was cleared, and because the service takes a code once.
 *
 * Only the path of a request counts, not its scheme and host: behind a proxy a server sees others than the browser.
 *
 * @throws InvalidArgumentError when an option cannot be used
 */
export function createLoginHandlers(app: OAuthApp, options: LoginHandlersOptions): LoginHandlers {
  const sealer = createSealer(options.secret, 'login cookie')
  const cookies = loginCookies(app.redirectUri, options.cookieName ?? 'support_login')
  const defaultReturnTo = checkReturnTo(options.returnTo ?? '/')
  const loginRequest = { scope: options.scope, actor: options.actor, parameters: options.parameters }
  checkLoginRequest(loginRequest)

  async function start(request: Request): Promise<Response> {
    if (request.method !== 'GET' && request.method !== 'POST') return notAllowed('GET, POST')
    const { url, transaction } = await app.startLogin(loginRequest)
    const asked = new URL(request.url).searchParams.getAll('return_to')
    const returnTo = (asked.length === 1 ? safeReturnTo(asked[0]) : undefined) ?? defaultReturnTo
    const record = toRecord(transaction)
    const sealed = await sealer.seal({ transaction: record, returnTo }, transaction.expiresAt)
    const lifetime = transaction.expiresAt - transaction.createdAt
    return guard(seeOther(url), [
      ...cookies.makeRoom(request.headers.get('cookie')),
      cookies.set(await cookies.nameFor(record.state), sealed, lifetime),
    ])
  }

  async function callback(request: Request): Promise<Response> {
    if (request.method !== 'GET') return notAllowed('GET')
    const cleared: string[] = []
    let token: AccessToken
    let returnTo: string
    try {
      const name = await cookies.nameFor(new URL(request.url).searchParams.get('state') ?? '')
      const sealed = cookies.read(request.headers.get('cookie'), name)
      if (sealed === undefined) throw missingTransaction()
      cleared.push(cookies.clear(name))
      const login = readLogin(openedValue(await sealer.open(sealed)))
      returnTo = login.returnTo
      // Without the request's signal: a browser that goes away now would cost the token, which is the service's already.
      token = await app.finishLogin(request, login.transaction)
    } catch (error) {
      if (!isLoginFailure(error)) throw error
      return guard((await options.onError?.(error, { request })) ?? loginErrorPage(error), cleared)
    }
    return guard((await options.onConnected(token, { request, returnTo })) ?? seeOther(returnTo), cleared)
  }

  return { start, callback }
}

function readLogin(value: unknown): { readonly transaction: LoginTransaction; readonly returnTo: string } {
  const { transaction, returnTo } = value as { transaction: unknown; returnTo: string }
  return { transaction: fromRecord(transaction), returnTo }
}

function isLoginFailure(error: unknown): error is LoginFailure {
  return error instanceof LoginError || error instanceof ConnectionError || error instanceof TimeoutError
}

function checkReturnTo(returnTo: unknown): string {
  const safe = safeReturnTo(returnTo)
  if (safe !== undefined) return safe
  throw new InvalidArgumentError('returnTo', '`returnTo` is not a path of this site.', 'Pass one like "/inbox".')
}

function notAllowed(allow: string): Response {
  return guard(new Response(null, { status: 405, headers: { allow } }), [])
}

/** 303, so that a POST goes on as a GET (RFC 9110, section 15.4.4). */
function seeOther(location: string): Response {
  return new Response(null, { status: 303, headers: { location } })
}

/** A copy, as a response's headers can be immutable. Addresses of a login belong in no cache and no Referer header. */
function guard(response: Response, setCookies: readonly string[]): Response {
  const headers = new Headers(response.headers)
  headers.set('cache-control', 'no-store')
  headers.set('referrer-policy', 'no-referrer')
  for (const cookie of setCookies) headers.append('set-cookie', cookie)
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}
