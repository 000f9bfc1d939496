import type { Actor } from '../actor.ts'
import { sha256 } from '../bytes.ts'
import {
  checkFlag,
  checkFunction,
  checkNames,
  checkObject,
  checkOptionalFunction,
  checkOptions,
  checkText,
} from '../check-options.ts'
import { checkAccessToken, parseBaseUrl } from '../credentials.ts'
import { InvalidArgumentError, SupportWorkspaceError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { isPlainObject } from '../json.ts'
import { version as sdkVersion } from '../version.ts'
import type { WebFetch } from '../web-types.ts'
import type {
  AccessTokenOption,
  AccessTokenSource,
  AppInfo,
  CallOptions,
  ClientOptions,
  Drift,
  Hooks,
  RequestHeaders,
  ValidationMode,
} from './options.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { RetryAfterLimiter } from './retry-after-limiter.ts'

/** The checked options of a call, with the client's as defaults. */
export interface CallSettings {
  readonly timeout: number
  readonly totalTimeout: number
  readonly maxRetries: number
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** The checked options of a client, with defaults. */
export interface ClientSettings extends CallSettings {
  readonly baseUrl: URL
  readonly tokenSource: AccessTokenSource
  readonly actor: Actor | undefined
  readonly scopes: readonly string[] | undefined
  readonly fetch: WebFetch | undefined
  readonly maxRetryAfter: number
  readonly maxResponseBytes: number
  readonly validation: ValidationMode
  readonly onDrift: ((drift: Drift) => void) | undefined
  readonly hooks: Hooks
  readonly rateLimiter: RateLimiter
  /** Returns the key of this client in the limiter. A digest of the token takes a moment, once. */
  readonly findRateLimitKey: () => string | Promise<string>
}

/** A record, so that it does not compile when an option is missing. */
export const callOptionNames: Readonly<Record<keyof CallOptions, true>> = {
  signal: true,
  timeout: true,
  totalTimeout: true,
  maxRetries: true,
  headers: true,
  extraQuery: true,
  extraBody: true,
}

const clientOptionNames: Readonly<Record<keyof ClientOptions, true>> = {
  baseUrl: true,
  accessToken: true,
  actor: true,
  scopes: true,
  fetch: true,
  timeout: true,
  totalTimeout: true,
  maxRetries: true,
  maxRetryAfter: true,
  maxResponseBytes: true,
  validation: true,
  onDrift: true,
  headers: true,
  hooks: true,
  appInfo: true,
  allowInsecureHttp: true,
  rateLimiter: true,
  rateLimitKey: true,
}

/** @throws InvalidArgumentError that names the option */
export function readClientSettings(options: ClientOptions): ClientSettings {
  checkRuntime()
  checkObject('options', options, 'Pass at least `baseUrl` and `accessToken`.')
  checkNames(options, clientOptionNames, 'a client')
  return {
    baseUrl: parseBaseUrl(options.baseUrl, checkFlag('allowInsecureHttp', options.allowInsecureHttp)),
    tokenSource: toAccessTokenSource(options.accessToken),
    actor: oneOf('actor', options.actor, ['app', 'self']),
    scopes: readScopes(options.scopes),
    fetch: checkOptionalFunction('fetch', options.fetch),
    maxRetryAfter: positive('maxRetryAfter', options.maxRetryAfter ?? 60_000),
    maxResponseBytes: positive('maxResponseBytes', options.maxResponseBytes ?? 32 * 1024 * 1024),
    validation: oneOf('validation', options.validation, ['observe', 'strict', 'off']) ?? 'observe',
    onDrift: checkOptionalFunction('onDrift', options.onDrift),
    hooks: readHooks(options.hooks),
    rateLimiter: readRateLimiter(options.rateLimiter),
    findRateLimitKey: rateLimitKeyFinder(options),
    ...readLimits(options, {
      timeout: 30_000,
      totalTimeout: 120_000,
      maxRetries: 2,
      headers: { accept: 'application/json', ...userAgent(options.appInfo) },
    }),
  }
}

/** ky makes a `Request` with a combined signal. Some test environments have classes that do not fit together. */
function checkRuntime(): void {
  try {
    const { signal } = new AbortController()
    new Request('https://localhost', { signal: AbortSignal.any([signal]) })
  } catch (cause) {
    throw new SupportWorkspaceError('This runtime cannot create a `Request` with the signal of `AbortSignal.any`.', {
      hint: 'Use Node 22, a browser from 2024, or later. In jsdom, use the classes of Node instead of its own.',
      cause: safeCause(cause),
    })
  }
}

/** @throws InvalidArgumentError that names the option */
export function readCallSettings(options: CallOptions, defaults: CallSettings): CallSettings {
  checkNames(options, callOptionNames, 'a call')
  return readLimits(options, defaults)
}

function readLimits(options: CallOptions | ClientOptions, defaults: CallSettings): CallSettings {
  return {
    timeout: positive('timeout', options.timeout ?? defaults.timeout),
    totalTimeout: positive('totalTimeout', options.totalTimeout ?? defaults.totalTimeout),
    maxRetries: count('maxRetries', options.maxRetries ?? defaults.maxRetries),
    headers:
      options.headers === undefined ? defaults.headers : { ...defaults.headers, ...checkHeaders(options.headers) },
  }
}

function readScopes(scopes: unknown): string[] | undefined {
  if (scopes === undefined) return undefined
  if (Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string')) return [...scopes]
  throw new InvalidArgumentError(
    'scopes',
    '`scopes` must be an array of strings.',
    'Pass, for example, `["conversations:read"]`; split a space-separated list first.',
  )
}

/** Converts the option to a source. A token that is a string is checked immediately. */
function toAccessTokenSource(option: AccessTokenOption): AccessTokenSource {
  if (typeof option === 'function') return { getAccessToken: option }
  if (typeof option === 'object' && option !== null && typeof option.getAccessToken === 'function') {
    if (isPlainObject(option)) checkNames(option, { getAccessToken: true, onInvalidToken: true }, '`accessToken`')
    checkOptionalFunction('accessToken.onInvalidToken', option.onInvalidToken)
    return option
  }
  const accessToken = checkAccessToken(option)
  return { getAccessToken: () => accessToken }
}

function readRateLimiter(limiter: RateLimiter | undefined): RateLimiter {
  if (limiter === undefined) return new RetryAfterLimiter()
  checkObject('rateLimiter', limiter, 'Pass, for example, `new RetryAfterLimiter()`.')
  checkFunction('rateLimiter.acquire', limiter.acquire)
  checkFunction('rateLimiter.penalize', limiter.penalize)
  return limiter
}

function rateLimitKeyFinder({ rateLimiter, rateLimitKey, accessToken }: ClientOptions): () => string | Promise<string> {
  // Nobody else knows the keys of a limiter that belongs to the client.
  const known = rateLimitKey === undefined ? (rateLimiter ? undefined : '') : checkText('rateLimitKey', rateLimitKey)
  if (known !== undefined) return () => known
  let found: string | Promise<string> | undefined
  return () => {
    found ??= defaultKey(accessToken).then((key) => {
      found = key
      return key
    })
    return found
  }
}

/** A token that never changes identifies its connection in every process, and its digest does not reveal it. */
async function defaultKey(accessToken: unknown): Promise<string> {
  // Pages without a secure context have no `crypto.subtle`.
  const digest = typeof accessToken === 'string' ? await sha256(accessToken).catch(() => undefined) : undefined
  return digest ?? `client-${Math.random()}`
}

const hookNames = {
  onOperationStart: true,
  onOperationEnd: true,
  onAttemptStart: true,
  onAttemptEnd: true,
  onRetry: true,
  onWait: true,
} satisfies Record<keyof Hooks, true>

/** Checks hooks. Returns the same object, whose methods may use `this`. */
export function readHooks(hooks: unknown): Hooks {
  if (hooks === undefined) return {}
  checkObject('hooks', hooks, 'Pass, for example, `{ onRetry(event) {} }`.')
  // An instance of a class may have properties of its own.
  if (isPlainObject(hooks)) checkNames(hooks, hookNames, 'the hooks')
  for (const name of Object.keys(hookNames)) checkOptionalFunction(name, Reflect.get(hooks, name))
  return hooks
}

export function checkHeaders(given: RequestHeaders): Record<string, string> {
  const headers = toHeaders(given)
  if (headers === undefined) {
    throw new InvalidArgumentError(
      'headers',
      '`headers` contains a name or value that HTTP does not allow.',
      'Pass an object of ASCII names and string values without line breaks.',
    )
  }
  const name = ['authorization', 'content-length', 'transfer-encoding', 'host'].find((each) => headers.has(each))
  if (name === undefined) return Object.fromEntries(headers)
  throw new InvalidArgumentError(
    'headers',
    `The \`${name}\` header is set by the client.`,
    name === 'authorization' ? 'Pass the token as `accessToken`.' : 'Leave it out.',
  )
}

/** Returns undefined instead of the platform's error, which quotes the value and could leak a secret. */
function toHeaders(given: unknown): Headers | undefined {
  const isIterable = given instanceof Headers || Array.isArray(given)
  if (!isIterable && !isPlainObject(given)) return undefined
  try {
    const entries = (isIterable ? [...given] : Object.entries(given)).filter(([, value]) => value !== undefined)
    return entries.every(([, value]) => typeof value === 'string') ? new Headers(entries) : undefined
  } catch {
    return undefined
  }
}

function positive(name: string, value: number): number {
  if (typeof value === 'number' && value > 0) return value
  throw new InvalidArgumentError(name, `\`${name}\` must be a positive number.`, 'Pass `Infinity` for no limit.')
}

function count(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new InvalidArgumentError(name, `\`${name}\` must be an integer of at least 0.`, 'Pass 0 for no retries.')
}

function oneOf<Value extends string>(name: string, value: Value | undefined, values: Value[]): Value | undefined {
  if (value === undefined || values.includes(value)) return value
  throw new InvalidArgumentError(name, `\`${name}\` is not supported.`, `Pass one of: ${values.join(', ')}.`)
}

/**
 * Returns the `User-Agent` header on server runtimes: this package, the runtime and the application (RFC 9110, section
 * 10.1.5). Browsers send their own.
 */
function userAgent(appInfo: AppInfo | undefined): { readonly 'user-agent'?: string } {
  const app = appInfo === undefined ? '' : ` ${describeApp(appInfo)}`
  // Node, Bun, Deno and Workers put their name here. Test environments such as jsdom pretend to be a browser.
  const runtime = (globalThis as { navigator?: { userAgent?: unknown } }).navigator?.userAgent
  if (typeof runtime !== 'string' || runtime.startsWith('Mozilla/')) return {}
  return { 'user-agent': `support-workspace-sdk/${sdkVersion} ${runtime}${app}` }
}

/** Product name, version and comment (RFC 9110, section 10.1.5). */
const product = /^[\w!#$%&'*+.^`|~-]+(\/[\w!#$%&'*+.^`|~-]+)?( \([\x21-\x27\x2a-\x5b\x5d-\x7e]+\))?$/

const appInfoNames = { name: true, version: true, url: true } satisfies Record<keyof AppInfo, true>

function describeApp(appInfo: AppInfo): string {
  checkOptions('appInfo', appInfo, appInfoNames, '`appInfo`')
  const { name, version: appVersion, url } = appInfo
  const version = (appVersion ?? undefined) === undefined ? '' : `/${String(appVersion)}`
  const text = `${String(name)}${version}${(url ?? undefined) === undefined ? '' : ` (${String(url)})`}`
  if (typeof name === 'string' && product.test(text)) return text
  throw new InvalidArgumentError(
    'appInfo',
    '`appInfo` cannot be written into the `User-Agent` header.',
    'Pass `name` and `version` without spaces, for example `{ name: "my-sync", version: "1.4.2" }`.',
  )
}
