import { SupportWorkspaceError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { AdaptiveRateLimiter, type RateLimiter } from '../rate-limiter/index.ts'
import { checkActor } from '../shared/actor.ts'
import { sha256 } from '../shared/bytes.ts'
import {
  type Check,
  type Checked,
  checkFlag,
  checkFunction,
  checkNames,
  checkObject,
  checkOneOf,
  checkOptions,
  checkPositive,
  checkRetries,
  checkText,
  mustBe,
  readOptions,
} from '../shared/check-options.ts'
import { checkAccessToken, parseBaseUrl } from '../shared/credentials.ts'
import { isObject, isPlainObject } from '../shared/json.ts'
import type { WebFetch } from '../shared/web-types.ts'
import { checkHeaders, copyAppInfo, type HeaderSource, userAgent } from './headers.ts'
import { type Hooks, hookNames } from './hooks.ts'
import { createLog, loggingDrift, loggingHooks, logLevels } from './logging.ts'
import type { Guard, Middleware } from './middleware.ts'
import type { AccessTokenSource, ClientOptions, Drift, Logger } from './options.ts'

const clientChecks = {
  baseUrl: (_, value) => (value instanceof URL ? value.href : value),
  accessToken: (_, value) => value,
  actor: checkActor,
  scopes: checkScopes,
  fetch: checkFunction<WebFetch>,
  timeout: checkPositive,
  totalTimeout: checkPositive,
  maxRetries: checkRetries,
  maxRetryAfter: checkPositive,
  maxResponseBytes: checkPositive,
  validation: (name, value) => checkOneOf(name, value, ['observe', 'strict', 'off']),
  onDrift: checkFunction<(drift: Drift) => void>,
  headers: checkHeaders,
  hooks: checkHooks,
  context: (_, value) => value,
  middleware: checkMiddleware,
  fresh: checkFlag,
  logger: checkLogger,
  logLevel: (name, value) => checkOneOf(name, value, logLevels),
  rateLimiter: checkRateLimiter,
  rateLimitKey: checkText,
  appInfo: copyAppInfo,
  allowInsecureHttp: checkFlag,
} satisfies Record<Exclude<keyof ClientOptions, 'guard' | 'background'>, Check<unknown>>

/** The checked options of a client. Only this package passes those that have no check. */
export interface CheckedClientOptions extends Checked<typeof clientChecks> {
  /** How the client that this one was made from finds its key for the limiter, which both share. */
  readonly findRateLimitKey?: FindKey | undefined
  readonly guard?: Guard | undefined
  readonly background?: boolean | undefined
}

/** @throws InvalidArgumentError that names the option */
export function checkClientOptions(options: ClientOptions): CheckedClientOptions {
  checkObject('options', options, 'Pass at least `baseUrl` and `accessToken`.')
  return readOptions(options, clientChecks, 'a client')
}

/** The options that `withOptions` can change. */
export type ChangeableOptions = Omit<ClientOptions, 'baseUrl' | 'accessToken' | 'actor'>

/** The checks of the options that `withOptions` can change. */
export function changeableChecks() {
  const { baseUrl, accessToken, actor, ...changeable } = clientChecks
  return changeable
}

/**
 * Returns the options of a client with some changes. The new client has the same token and, by default, the same
 * limiter and key.
 */
export function changeOptions(
  { given, rateLimiter, findRateLimitKey }: ClientSettings,
  changes: ChangeableOptions,
): CheckedClientOptions {
  const checked = readOptions(changes, changeableChecks(), '`withOptions`')
  const changed = Object.fromEntries(Object.entries(checked).filter(([, value]) => value !== undefined))
  const isSameKey = changed.rateLimitKey === undefined && (changed.rateLimiter ?? rateLimiter) === rateLimiter
  const middleware = [...(given.middleware ?? []), ...(checked.middleware ?? [])]
  const shared = { rateLimiter, findRateLimitKey: isSameKey ? findRateLimitKey : undefined }
  return { ...given, ...shared, ...changed, middleware }
}

/** A source of tokens. If its token never changes, it has the token too. */
interface TokenSource extends AccessTokenSource {
  readonly accessToken?: string
}

/** The settings of a client: its checked options with defaults. */
export type ClientSettings = Readonly<ReturnType<typeof settingsOf>>

export function settingsOf(given: CheckedClientOptions) {
  checkRuntime()
  const { hooks, onDrift, accessToken, ...options } = given
  const log = createLog(given.logger, given.logLevel)
  // Later entries take precedence.
  const headers: HeaderSource[] = [{ accept: 'application/json', ...userAgent(given.appInfo) }]
  if (given.headers !== undefined) headers.push(given.headers)
  return {
    ...options,
    /** The options that the client was made with. */
    given,
    baseUrl: parseBaseUrl(given.baseUrl, given.allowInsecureHttp === true),
    tokenSource: readTokenSource(accessToken),
    timeout: given.timeout ?? 30_000,
    totalTimeout: given.totalTimeout ?? 120_000,
    maxRetries: given.maxRetries ?? 2,
    maxRetryAfter: given.maxRetryAfter ?? 60_000,
    maxResponseBytes: given.maxResponseBytes ?? 32 * 1024 * 1024,
    validation: given.validation ?? 'observe',
    onDrift: onDrift && log ? loggingDrift(onDrift, log) : onDrift,
    hooks: log ? loggingHooks(hooks ?? {}, log) : hooks,
    headers,
    middleware: given.middleware ?? [],
    fresh: given.fresh ?? false,
    background: given.background ?? false,
    rateLimiter: given.rateLimiter ?? new AdaptiveRateLimiter(),
    findRateLimitKey: given.findRateLimitKey ?? keyFinder(given),
  }
}

/** Returns the key of a client for its rate limiter. A digest takes a moment. */
type FindKey = () => string | Promise<string>

/**
 * Finds the key when the client sends its first request. Only a limiter that the caller gave can be shared.
 * Its key is the digest of a constant token, which identifies the connection in every process, and hides the token.
 */
function keyFinder({ rateLimitKey, rateLimiter, accessToken }: CheckedClientOptions): FindKey {
  let key: string | Promise<string> | undefined = rateLimitKey
  const isShared = rateLimiter !== undefined && typeof accessToken === 'string'
  const digest = async () => {
    // `crypto.subtle` is missing in pages without a secure context.
    key = await sha256(accessToken as string).catch(createKey)
    return key
  }
  return () => {
    key ??= isShared ? digest() : createKey()
    return key
  }
}

/** A key that no other client has. */
const createKey = () => `client-${Math.random()}`

/** ky makes a `Request` with a combined signal. In some test environments, these classes are incompatible. */
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

function checkScopes(_: string, scopes: unknown): readonly string[] {
  if (Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string')) return [...scopes]
  const hint = 'Pass, for example, `["conversations:read"]`; split a space-separated list first.'
  throw mustBe('an array of strings', 'scopes', scopes, hint)
}

/** Converts the option to a source. A token that is a string is checked immediately. */
function readTokenSource(option: unknown): TokenSource {
  if (typeof option === 'function') return { getAccessToken: option as AccessTokenSource['getAccessToken'] }
  if (isObject(option) && typeof option.getAccessToken === 'function') {
    if (isPlainObject(option)) checkNames(option, { getAccessToken: true, onInvalidToken: true }, '`accessToken`')
    if (option.onInvalidToken !== undefined) checkFunction('accessToken.onInvalidToken', option.onInvalidToken)
    return option as unknown as AccessTokenSource
  }
  const accessToken = checkAccessToken(option)
  return { accessToken, getAccessToken: () => accessToken }
}

function checkRateLimiter(_: string, limiter: unknown): RateLimiter {
  checkObject('rateLimiter', limiter, 'Pass, for example, `new AdaptiveRateLimiter()`.')
  checkFunction('rateLimiter.acquire', Reflect.get(limiter, 'acquire'))
  return limiter as RateLimiter
}

function checkMiddleware(name: string, given: unknown): readonly Middleware[] {
  return (Array.isArray(given) ? given : [given]).map((each) => checkFunction<Middleware>(name, each))
}

/** Checks hooks. Returns the same object, whose methods can use `this`. */
export function checkHooks(_: string, hooks: unknown): Hooks {
  const names = Object.keys(hookNames)
  // An instance of a class can have other properties beside its hooks.
  const isOfClass = isObject(hooks) && !isPlainObject(hooks) && names.some((name) => name in hooks)
  if (!isOfClass) checkOptions('hooks', hooks, hookNames, 'the hooks')
  for (const name of names) {
    const hook: unknown = Reflect.get(hooks as Hooks, name)
    if (hook !== undefined) checkFunction(name, hook)
  }
  return hooks as Hooks
}

function checkLogger(_: string, logger: unknown): Logger {
  if (typeof logger !== 'function') checkObject('logger', logger, 'Pass, for example, `console`.')
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    checkFunction(`logger.${level}`, (logger as Partial<Logger>)[level])
  }
  return logger as Logger
}
