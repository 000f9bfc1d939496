import { checkFunction, checkOptions } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import type { WebRequest, WebResponse } from '../web-types.ts'
import type { AccessToken } from './access-token.ts'
import { safeReturnTo } from './return-to.ts'
import type { SealSecret } from './seal.ts'
import { checkLoginRequest, type LoginRequest, loginRequestNames } from './start-login.ts'

/** A response, or nothing, which leaves the response to the handler. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is welcome here
export type HandlerResult = WebResponse | void | Promise<WebResponse | void>

/** What `onConnected` learns about a login beside its token. */
export interface LoginContext<Data = unknown> {
  /** The request of the callback. */
  readonly request: WebRequest
  /** The path to continue with. The default one when the login is not known. */
  readonly returnTo: string
  /** What `start` was given as `data`. Undefined when it was given none, or when the login is not known. */
  readonly data: Data | undefined
}

/** What `onError` learns about a login that failed. */
export interface LoginErrorContext<Data = unknown> extends LoginContext<Data> {
  /**
   * The status of the default page: 403 when access was denied, 502 when the service is at fault or does not accept the
   * app, 500 when `onConnected` failed, else 400.
   */
  readonly status: number
}

export interface LoginHandlersOptions<Data = unknown> extends LoginRequest {
  /**
   * Seals the login under way, in a cookie. At least 32 characters, for example from `openssl rand -base64 32`; the same
   * on every server. Several for rotation: the first seals, every one opens.
   */
  readonly secret: SealSecret
  /**
   * Called with the token of a completed login, to store it. Returns a response of your own, or nothing to send the
   * browser on to `returnTo`. What it throws goes to `onError`, or to your framework when there is none; the login is
   * over either way.
   */
  readonly onConnected: (token: AccessToken, context: LoginContext<Data>) => HandlerResult
  /**
   * Called when a login failed, to log it: with a `LoginError`, `NetworkError` or `TimeoutError`, or with what
   * `onConnected` threw. Returns a response of your own, or nothing for a page that says what happened and links to the
   * start of the login. What it throws is thrown by the handler.
   */
  readonly onError?: ((error: Error, context: LoginErrorContext<Data>) => HandlerResult) | undefined
  /**
   * Where the browser goes after the login, a path of your own site of at most 1,024 characters. The start address can
   * name another, `?return_to=/inbox`; one that leaves the site or is too long is ignored.
   * @default '/'
   */
  readonly returnTo?: string | undefined
  /**
   * Prefix of the cookies' names, after `__Host-` where that is possible. At most 64 letters, digits, `_` and `-`.
   * @default 'support_login'
   */
  readonly cookieName?: string | undefined
}

const optionNames = {
  ...loginRequestNames,
  secret: true,
  onConnected: true,
  onError: true,
  returnTo: true,
  cookieName: true,
} satisfies Record<keyof LoginHandlersOptions, true>

/** The options of one login. Each replaces that of the handlers. */
export interface LoginStartOptions<Data = unknown> {
  /** The scopes to request. */
  readonly scope?: LoginRequest['scope'] | undefined
  /** The actor to request. */
  readonly actor?: LoginRequest['actor']
  /** Further parameters for the authorize address, in place of all of those of the handlers. */
  readonly parameters?: LoginRequest['parameters']
  /**
   * A JSON value of your app, for example the id of the user who starts the login; at most 1,024 bytes. It travels
   * sealed in the login's cookie and is passed to `onConnected` and `onError`.
   */
  readonly data?: Data | undefined
}

const startOptionNames = { ...loginRequestNames, data: true } satisfies Record<keyof LoginStartOptions, true>

/** Checks the options of the handlers, and fills in their defaults. */
export function readHandlersOptions<Data>(options: LoginHandlersOptions<Data>) {
  checkOptions('options', options, optionNames)
  const { scope, actor, parameters, returnTo = '/', cookieName = 'support_login' } = options
  checkFunction('onConnected', options.onConnected)
  if (options.onError !== undefined) checkFunction('onError', options.onError)
  const defaultReturnTo = checkReturnTo(returnTo)
  const defaults = { scope, actor, parameters }
  checkLoginRequest(defaults)
  return { defaults, defaultReturnTo, cookieName }
}

function checkReturnTo(returnTo: unknown): string {
  const safe = safeReturnTo(returnTo)
  if (safe !== undefined) return safe
  throw new InvalidArgumentError(
    'returnTo',
    '`returnTo` must be a path of this site of at most 1,024 characters.',
    'Pass one like "/inbox".',
  )
}

/** The options of a login, or none when the second argument is a framework's (Next.js: `{ params }`; Hono: a function). */
export function checkStartOptions<Data>(given: LoginStartOptions<Data> | undefined): LoginStartOptions<Data> {
  if (given === undefined || typeof given === 'function') return {}
  if (typeof given === 'object' && given !== null && !Object.keys(startOptionNames).some((name) => name in given)) {
    return {}
  }
  checkOptions('options', given, startOptionNames)
  return given
}

/** The maximum size of an app's data as JSON, in bytes. The login's cookie has to hold it. */
const longest = 1_024

/**
 * Checks that an app's data can travel in the login's cookie and comes back as it was given. Throws
 * `InvalidArgumentError`, which does not quote the data.
 */
export function checkAppData(data: unknown): void {
  if (data === undefined) return
  const json = toJson(data)
  if (json === undefined || !isPlain(data)) {
    throw new InvalidArgumentError(
      'data',
      '`data` must be a JSON value.',
      'Pass strings, numbers, booleans, null, arrays and plain objects of these.',
    )
  }
  const { length } = new TextEncoder().encode(json)
  if (length <= longest) return
  throw new InvalidArgumentError(
    'data',
    `\`data\` is ${length} bytes of JSON, and a login's cookie holds ${longest}.`,
    'Keep the data in your session or database, and pass its id.',
  )
}

function toJson(data: unknown): string | undefined {
  try {
    return JSON.stringify(data)
  } catch {
    // A cycle or a bigint. The platform's error can quote the data.
    return undefined
  }
}

/** Whether a value without cycles is the same after a round trip through JSON. An absent property may be `undefined`. */
function isPlain(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (Array.isArray(value)) return Array.from(value).every(isPlain)
  if (typeof value !== 'object') return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false
  return Object.values(value).every((item) => item === undefined || isPlain(item))
}
