import { sha256 } from '../shared/bytes.ts'
import {
  type Check,
  type Checked,
  checkFlag,
  checkFunction,
  checkInteger,
  checkNames,
  checkObject,
  checkOneOf,
  checkOptionalFunction,
  checkText,
  mustBe,
  readOptions,
} from '../shared/check-options.ts'
import { checkAccessToken, parseBaseUrl } from '../shared/credentials.ts'
import { SupportWorkspaceError } from '../shared/errors/index.ts'
import { safeCause } from '../shared/errors/redact.ts'
import { isObject, isPlainObject } from '../shared/json.ts'
import type { WebFetch } from '../shared/web-types.ts'
import { checkHeaders, describeApp, type HeaderSource, userAgent } from './headers.ts'
import type { Hooks } from './hooks.ts'
import { createLog, loggingDrift, loggingHooks, logLevels } from './logging.ts'
import type { AccessTokenSource, ClientOptions, Drift, Logger, RateLimiter } from './options.ts'
import { RetryAfterLimiter } from './retry-after-limiter.ts'

/** The checked options of a call, with the client's as defaults. */
export interface CallSettings {
  readonly timeout: number
  readonly totalTimeout: number
  readonly maxRetries: number
  /** Later ones take precedence. */
  readonly headers: readonly HeaderSource[]
}

const clientChecks = {
  baseUrl: (_, value) => value,
  accessToken: (_, value) => value,
  actor: (name, value) => checkOneOf(name, value, ['app', 'self']),
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
  logger: checkLogger,
  logLevel: (name, value) => checkOneOf(name, value, logLevels),
  rateLimiter: checkRateLimiter,
  rateLimitKey: checkText,
  appInfo: describeApp,
  allowInsecureHttp: checkFlag,
} satisfies Record<keyof ClientOptions, Check<unknown>>

/** @throws InvalidArgumentError that names the option */
export function readClientSettings(options: ClientOptions): ClientSettings {
  checkRuntime()
  checkObject('options', options, 'Pass at least `baseUrl` and `accessToken`.')
  const given = readOptions(options, clientChecks, 'a client')
  const baseUrl = parseBaseUrl(given.baseUrl, given.allowInsecureHttp === true)
  return withDefaults(given, { baseUrl, tokenSource: readTokenSource(given.accessToken) })
}

/** The options that `withOptions` can change. */
export type ChangeableOptions = Omit<ClientOptions, 'baseUrl' | 'accessToken' | 'actor'>

/** The checks of the options that `withOptions` can change. */
export function changeableChecks() {
  const { baseUrl, accessToken, actor, ...changeable } = clientChecks
  return changeable
}

/** Returns the settings of a client that differs in some options. It has the same token and, by default, the same limiter. */
export function changeSettings(settings: ClientSettings, changes: ChangeableOptions): ClientSettings {
  const given = Object.entries(readOptions(changes, changeableChecks(), '`withOptions`'))
  const { actor, rateLimiter, scopes, findRateLimitKey } = settings
  const changed = Object.fromEntries(given.filter(([, value]) => value !== undefined))
  const isShared = changed.rateLimitKey === undefined && changed.rateLimiter === undefined
  const next = withDefaults({ ...settings.given, actor, rateLimiter, scopes, ...changed }, settings)
  return isShared ? { ...next, findRateLimitKey } : next
}

/** The checked options of a client, with defaults. */
export type ClientSettings = CallSettings & ReturnType<typeof withDefaults>

/** What no `withOptions` changes. */
interface Service {
  readonly baseUrl: URL
  readonly tokenSource: AccessTokenSource
}

function withDefaults(given: Checked<typeof clientChecks>, { baseUrl, tokenSource }: Service) {
  const { actor, scopes, fetch, hooks = {}, onDrift, headers } = given
  const log = createLog(given.logger, given.logLevel)
  return {
    given,
    baseUrl,
    tokenSource,
    actor,
    scopes,
    fetch,
    timeout: given.timeout ?? 30_000,
    totalTimeout: given.totalTimeout ?? 120_000,
    maxRetries: given.maxRetries ?? 2,
    maxRetryAfter: given.maxRetryAfter ?? 60_000,
    maxResponseBytes: given.maxResponseBytes ?? 32 * 1024 * 1024,
    validation: given.validation ?? 'observe',
    onDrift: log === undefined || onDrift === undefined ? onDrift : loggingDrift(onDrift, log),
    hooks: log === undefined ? hooks : loggingHooks(hooks, log),
    headers: [{ accept: 'application/json', ...userAgent(given.appInfo ?? '') }, ...(headers ? [headers] : [])],
    rateLimiter: given.rateLimiter ?? new RetryAfterLimiter(),
    // Nobody else knows the keys of a limiter that belongs to the client.
    findRateLimitKey: rateLimitKeyFinder(given.rateLimiter ? given.rateLimitKey : '', given.accessToken),
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

function checkScopes(_: string, scopes: unknown): readonly string[] {
  if (Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string')) return [...scopes]
  const hint = 'Pass, for example, `["conversations:read"]`; split a space-separated list first.'
  throw mustBe('an array of strings', 'scopes', scopes, hint)
}

/** Converts the option to a source. A token that is a string is checked immediately. */
function readTokenSource(option: unknown): AccessTokenSource {
  if (typeof option === 'function') return { getAccessToken: option as AccessTokenSource['getAccessToken'] }
  if (isObject(option) && typeof option.getAccessToken === 'function') {
    if (isPlainObject(option)) checkNames(option, { getAccessToken: true, onInvalidToken: true }, '`accessToken`')
    checkOptionalFunction('accessToken.onInvalidToken', option.onInvalidToken)
    return option as unknown as AccessTokenSource
  }
  const accessToken = checkAccessToken(option)
  return { getAccessToken: () => accessToken }
}

function checkRateLimiter(_: string, limiter: unknown): RateLimiter {
  checkObject('rateLimiter', limiter, 'Pass, for example, `new RetryAfterLimiter()`.')
  for (const name of ['acquire', 'penalize']) checkFunction(`rateLimiter.${name}`, Reflect.get(limiter, name))
  return limiter as RateLimiter
}

function rateLimitKeyFinder(known: string | undefined, accessToken: unknown): () => string | Promise<string> {
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
export function checkHooks(_: string, hooks: unknown): Hooks {
  checkObject('hooks', hooks, 'Pass, for example, `{ onRetry(event) {} }`.')
  // An instance of a class may have properties of its own.
  if (isPlainObject(hooks)) checkNames(hooks, hookNames, 'the hooks')
  for (const name of Object.keys(hookNames)) checkOptionalFunction(name, Reflect.get(hooks, name))
  return hooks
}

function checkLogger(_: string, logger: unknown): Logger {
  if (typeof logger !== 'function') checkObject('logger', logger, 'Pass, for example, `console`.')
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    checkFunction(`logger.${level}`, (logger as Partial<Logger>)[level])
  }
  return logger as Logger
}

export function checkRetries(name: string, value: unknown): number {
  return checkInteger(name, value, 0, 'Pass 0 for no retries.')
}

export function checkPositive(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw mustBe('a positive number', name, value, 'Pass `Infinity` for no limit.')
}
