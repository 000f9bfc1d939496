import type { Actor } from '../actor.ts'
import type { CallOptions, ClientOptions } from '../client-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import type { WebFetch } from '../web-types.ts'
import { type AccessTokenSource, toAccessTokenSource } from './authorization.ts'
import { parseBaseUrl } from './base-url.ts'
import type { Hooks } from './hooks.ts'
import type { Drift, ValidationMode } from './validation.ts'

/** The options of one call, with the client's where the call has none. */
export interface CallSettings {
  readonly timeout: number
  readonly totalTimeout: number
  readonly maxRetries: number
  readonly headers: Readonly<Record<string, string>>
}

/** The options of a client, checked, with their defaults. */
export interface Settings extends CallSettings {
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
}

export function readSettings(options: ClientOptions): Settings {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError('options', 'The client needs options.', 'Pass at least `baseUrl` and `accessToken`.')
  }
  return {
    baseUrl: parseBaseUrl(options.baseUrl, options.allowInsecureHttp),
    tokenSource: toAccessTokenSource(options.accessToken),
    actor: oneOf('actor', options.actor, ['app', 'self']),
    scopes: options.scopes === undefined ? undefined : [...options.scopes],
    fetch: options.fetch,
    maxRetryAfter: duration('maxRetryAfter', options.maxRetryAfter ?? 60_000),
    maxResponseBytes: duration('maxResponseBytes', options.maxResponseBytes ?? 32 * 1024 * 1024),
    validation: oneOf('validation', options.validation, ['observe', 'strict', 'off']) ?? 'observe',
    onDrift: options.onDrift,
    hooks: options.hooks ?? {},
    ...readCallSettings(options, { timeout: 30_000, totalTimeout: 120_000, maxRetries: 2, headers: {} }),
  }
}

export function readCallSettings(options: CallOptions, defaults: CallSettings): CallSettings {
  return {
    timeout: duration('timeout', options.timeout ?? defaults.timeout),
    totalTimeout: duration('totalTimeout', options.totalTimeout ?? defaults.totalTimeout),
    maxRetries: count('maxRetries', options.maxRetries ?? defaults.maxRetries),
    headers:
      options.headers === undefined ? defaults.headers : { ...defaults.headers, ...checkHeaders(options.headers) },
  }
}

function checkHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const headers = toHeaders(given)
  if (headers !== undefined && !headers.has('authorization')) return Object.fromEntries(headers)
  throw new InvalidArgumentError(
    'headers',
    headers === undefined
      ? '`headers` holds a name or value that no header can carry.'
      : 'The `authorization` header is set by the client.',
    headers === undefined ? 'Pass ASCII names and values without line breaks.' : 'Pass the token as `accessToken`.',
  )
}

/** The platform's error quotes the value, which may be a secret. */
function toHeaders(headers: Readonly<Record<string, string>>): Headers | undefined {
  try {
    return new Headers(headers)
  } catch {
    return undefined
  }
}

function duration(name: string, value: number): number {
  if (typeof value === 'number' && value > 0) return value
  throw new InvalidArgumentError(
    name,
    `\`${name}\` is not a positive number.`,
    'Pass a number, or `Infinity` for none.',
  )
}

function count(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new InvalidArgumentError(name, `\`${name}\` is not a whole number from 0.`, 'Pass 0 to never try again.')
}

function oneOf<Value extends string>(name: string, value: Value | undefined, values: Value[]): Value | undefined {
  if (value === undefined || values.includes(value)) return value
  throw new InvalidArgumentError(name, `\`${name}\` is none of its values.`, `Pass one of: ${values.join(', ')}.`)
}
