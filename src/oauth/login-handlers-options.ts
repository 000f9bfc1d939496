import { InvalidArgumentError } from '../errors/index.ts'
import type { AccessToken } from '../shared/access-token.ts'
import { type Check, checkFunction, readOptions } from '../shared/check-options.ts'
import { toJson } from '../shared/json.ts'
import type { SealSecret } from '../shared/seal.ts'
import { type LoginRequest, loginRequestChecks } from './start-login.ts'

/** Your `Response`, or undefined for the default response of the handler. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is allowed here
export type HandlerResult = Response | void | Promise<Response | void>

/** The second argument of `onConnected`. */
export interface LoginContext<Data = unknown> {
  /** The callback request. */
  readonly request: Request
  /** The path to continue with. This is the default path if the cookie is missing, invalid or of another login. */
  readonly returnTo: string
  /** The `data` passed to `start`. Undefined if there was none, or if the cookie is missing, invalid or of another login. */
  readonly data: Data | undefined
}

/** The second argument of `onError`. */
export interface LoginErrorContext<Data = unknown> extends LoginContext<Data> {
  /**
   * The status of the default page: 403 if access was denied, 502 if the service failed or rejected the app, otherwise
   * 400. If `onConnected` threw, the status is 500 and there is no default page.
   */
  readonly status: number
}

/** The options of `createLoginHandlers`. */
export interface LoginHandlersOptions<Data = unknown> extends LoginRequest {
  /**
   * Encrypts the login in progress in a cookie. At least 32 characters, for example from `openssl rand -base64 32`, and
   * the same on every server. For rotation pass several: the first encrypts, and each of them can decrypt.
   */
  readonly secret: SealSecret
  /**
   * Called with the token of a completed login, to store it. Returns your own response, or nothing to redirect the
   * browser to `returnTo`. If `onConnected` throws an error, `onError` receives it. The handler then throws the error
   * if `onError` returns no response. The login cannot be finished again.
   */
  readonly onConnected: (token: AccessToken, context: LoginContext<Data>) => HandlerResult
  /**
   * Called when a login fails, to log the error. This is a `LoginError`, `NetworkError` or `TimeoutError`, or the error
   * that `onConnected` threw. Returns your own response, or nothing for the default: the visitor gets a page that links
   * to the start of the login, or to `returnTo` if the browser sent no cookie, and the handler throws an error of
   * `onConnected`. If `onError` throws, the handler throws the same error.
   * @default `console.error` for errors whose remedy is `fix`, such as a wrong client secret
   */
  readonly onError?: ((error: Error, context: LoginErrorContext<Data>) => HandlerResult) | undefined
  /**
   * The path that the browser is redirected to after the login. The path must be on your site and at most 1,024
   * characters long. The start URL can override the path, for example with `?return_to=/inbox`. An override that leaves
   * the site or is too long is ignored.
   * @default '/'
   */
  readonly returnTo?: string | undefined
  /**
   * Start of the cookie's name, after `__Host-` over https. At most 64 letters, digits, `_` and `-`.
   * @default 'support_login'
   */
  readonly cookieName?: string | undefined
}

/** The options of one login. Each overrides the option of the handlers. */
export interface LoginStartOptions<Data = unknown> {
  /** The scopes to request. */
  readonly scope?: LoginRequest['scope'] | undefined
  /** The actor to request. */
  readonly actor?: LoginRequest['actor']
  /** Additional query parameters for the authorize URL. If set, the parameters of the handlers are not sent. */
  readonly parameters?: LoginRequest['parameters']
  /**
   * A JSON value of your app, for example the id of the user who starts the login. The value is encrypted in the login's
   * cookie, which has space for some 1,000 bytes of it, and passed to `onConnected` and `onError`.
   */
  readonly data?: Data | undefined
  /** The path that the browser is redirected to after the login. Overrides `return_to` in the start URL. */
  readonly returnTo?: string | undefined
}

const optionChecks = {
  ...loginRequestChecks,
  // Checked when its keys are derived.
  secret: (_, secret) => secret as SealSecret,
  onConnected: checkFunction<LoginHandlersOptions['onConnected']>,
  onError: checkFunction<NonNullable<LoginHandlersOptions['onError']>>,
  returnTo: checkReturnTo,
  // Checked with the cookie.
  cookieName: (_, name) => name as string,
} satisfies Record<keyof LoginHandlersOptions, Check<unknown>>

const startChecks = {
  ...loginRequestChecks,
  // A copy, which the caller cannot change.
  data: (name, data) => JSON.parse(toJson(name, data) ?? 'null') as unknown,
  returnTo: checkReturnTo,
} satisfies Record<keyof LoginStartOptions, Check<unknown>>

/** Copies and checks the options of the handlers, and fills in the defaults. */
export function readHandlersOptions(options: LoginHandlersOptions<never>) {
  const given = readOptions(options, optionChecks, 'the login handlers')
  const { scope, actor, parameters, secret, onConnected, onError, returnTo = '/', cookieName = 'support_login' } = given
  const defaults = { scope: scope ?? loginRequestChecks.scope('scope', scope), actor, parameters }
  const onToken = onConnected ?? optionChecks.onConnected('onConnected', onConnected)
  return { defaults, secret, onConnected: onToken, onError, defaultReturnTo: returnTo, cookieName }
}

/** @throws InvalidArgumentError unless it is a path on the site */
function checkReturnTo(_: string, returnTo: unknown): string {
  const safe = safeReturnTo(returnTo)
  if (safe !== undefined) return safe
  throw new InvalidArgumentError(
    'returnTo',
    '`returnTo` must be a path on this site of at most 1,024 characters.',
    'Pass a path that starts with one slash, for example "/inbox".',
  )
}

/**
 * Returns a checked copy of the options of a login. A caller can change or reuse the object, for example for the login
 * of another user. Returns none if a framework passed the second argument, which is `{ params }` in Next.js and a
 * function in Hono.
 */
export function readStartOptions(given: LoginStartOptions | undefined) {
  const isNone = typeof given === 'object' && given !== null && !Object.keys(startChecks).some((name) => name in given)
  const options = given === undefined || typeof given === 'function' || isNone ? {} : given
  return readOptions(options, startChecks, 'a login')
}

/** The maximum length of an encoded path, in bytes. It has to fit in the login's cookie. */
const maxPathLength = 1_024

/** A base for parsing paths. The real origin does not matter. */
const anyOrigin = 'http://origin.invalid'

/**
 * Returns the path to return to after a login if it stays on its origin when a browser resolves it; otherwise
 * undefined.
 *
 * The text comes from a URL that anyone can write. Backslashes, spaces and control characters are rejected because
 * browsers rewrite them (WHATWG URL, section 4.4). The resolved path is checked again because dot segments can expose a
 * second slash: `/.//evil.example` becomes `//evil.example`.
 */
export function safeReturnTo(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > maxPathLength) return undefined
  if (!text.startsWith('/') || /[\\\s\p{Cc}]/u.test(text) || !URL.canParse(text, anyOrigin)) return undefined
  const { origin, pathname, search, hash } = new URL(text, anyOrigin)
  const path = pathname + search + hash
  // Encoding can make the text nine times as long.
  return origin === anyOrigin && !pathname.startsWith('//') && path.length <= maxPathLength ? path : undefined
}

/**
 * Returns the path and query of the login's start, with `return_to` removed; undefined if the result cannot be a link.
 */
export function startPathOf(url: string): string | undefined {
  const { pathname, searchParams } = new URL(url)
  searchParams.delete('return_to')
  return safeReturnTo(`${pathname}?${searchParams}`)
}

/** Adds `return_to` to the path of a login's start. */
export function withReturnTo(startPath: string, returnTo: string): string {
  const { pathname, searchParams } = new URL(startPath, anyOrigin)
  searchParams.set('return_to', returnTo)
  return `${pathname}?${searchParams}`
}
