import type { Outcome, Remedy } from '../errors/index.ts'
import { isError } from '../errors/redact.ts'

/** What a failed `fetch` proves about the request, and what to do about it. */
export interface FetchFault {
  readonly outcome: Extract<Outcome, 'not-sent' | 'unknown'>
  readonly remedy: Extract<Remedy, 'retry' | 'fix'>
  /** Set if the usual hint does not fit. */
  readonly hint?: string
}

/**
 * Returns the first row that matches an error of `fetch` or one of its causes. Only errors of the platform's own `fetch`
 * about the host and port of `url` prove anything.
 */
export function classifyFetchError(thrown: unknown, url: string, isPlatform: boolean): FetchFault {
  if (!isPlatform) return unproven
  try {
    return findRow(thrown, new URL(url), maxDepth) ?? unproven
  } catch {
    // A getter of the error threw.
    return unproven
  }
}

/** A row matches an error that proves that no connection to the service was opened. */
interface Row extends FetchFault {
  matches(error: ErrorFacts): boolean
}

type ErrorFacts = { readonly [name in 'message' | 'code' | 'syscall' | 'hostname' | 'port' | 'errors']?: unknown }

const rows: readonly Row[] = [
  {
    // Fetch standard, section 2.9.
    matches: ({ message }) => message === 'bad port',
    outcome: 'not-sent',
    remedy: 'fix',
    hint: 'Nothing was sent, because `fetch` blocks this port. Use another port in `baseUrl`.',
  },
  { matches: ({ code }) => certificateCodes.has(code), outcome: 'not-sent', remedy: 'retry' },
  { matches: ({ code }) => connectCodes.has(code), outcome: 'not-sent', remedy: 'retry' },
  { matches: ({ syscall }) => connectCalls.has(syscall), outcome: 'not-sent', remedy: 'retry' },
  { matches: ({ message }) => denoConnect.test(String(message)), outcome: 'not-sent', remedy: 'retry' },
]

const unproven: FetchFault = { outcome: 'unknown', remedy: 'retry' }

const certificateCodes = new Set<unknown>([
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const connectCodes = new Set<unknown>([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused', // Bun
  'FailedToOpenSocket', // Bun
])

const connectCalls = new Set<unknown>(['connect', 'getaddrinfo'])

const denoConnect = /client error \(Connect\)/

/** Causes are followed up to this depth. */
const maxDepth = 5

function findRow(error: unknown, target: URL, depth: number): Row | undefined {
  if (!isError(error) || depth === 0) return undefined
  const { errors }: ErrorFacts = error
  if (Array.isArray(errors) && errors.length > 0) return rowOfAll(errors, target, depth - 1)
  const row = isAbout(target, error) ? rows.find(({ matches }) => matches(error)) : undefined
  return row ?? findRow(error.cause, target, depth - 1)
}

/** All addresses of the host were tried, and none may have received the request. */
function rowOfAll(errors: readonly unknown[], target: URL, depth: number): Row | undefined {
  let row: Row | undefined
  for (const error of errors) {
    row = findRow(error, target, depth)
    if (row === undefined) return undefined
  }
  return row
}

/** Whether an error is about the target, as far as it names a host and port. */
function isAbout({ hostname, port, protocol }: URL, error: ErrorFacts): boolean {
  const targetPort = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  if (error.port !== undefined && Number(error.port) !== targetPort) return false
  return error.hostname === undefined || error.hostname === hostname
}

/** Functions that count as the platform's own `fetch`. For tests. */
export const provenFetches = /* @__PURE__ */ new WeakSet<object>()

/**
 * Whether the connection errors of a function prove that nothing was sent. It must be the runtime's own `fetch`, without
 * a retrying agent. Any other function may have sent the request before it failed.
 */
export function isPlatformFetch(fetch: unknown): boolean {
  if (typeof fetch !== 'function') return false
  if (!provenFetches.has(fetch) && !isRuntimeFetch(fetch)) return false
  return dispatcherNames.every((name) => isPlainDispatcher(Reflect.get(globalThis, name)))
}

/** Recognizes the runtime's function by its printed text, so that wrappers made before this package loaded are found too. */
function isRuntimeFetch(fetch: { readonly name: string }): boolean {
  const text = Function.prototype.toString.call(fetch)
  if (!runtimeTexts.some((pattern) => pattern.test(text))) return false
  // A bound wrapper in Bun, and a wrapper under Sentry's `toString`, print the text of another function.
  return text.startsWith(`function ${fetch.name}(`)
}

const runtimeTexts = [
  // Browsers, Bun and Workers. Proxies, and bound functions of V8 and Firefox, print no name.
  /^function fetch\(\) \{\s*\[native code\]\s*\}$/,
  // Node. Named `value` in early versions of 22.
  /require\('internal\/deps\/undici\/undici'\)/,
  // Deno up to 2.7, and from 2.8.
  /mainFetch\(request, false, requestObject\.signal\)/,
  /lazyFetch\(\)\.fetch\(\.\.\.new /,
]

/** Where Node's fetch looks up its agent, including one set with undici. */
const dispatcherNames = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]

/** Whether an agent does not retry. One that does, such as undici's `RetryAgent`, hides earlier requests. */
function isPlainDispatcher(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher === null) return true
  const prototype = Object.getPrototypeOf(dispatcher)
  // A composed agent is a proxy with a different `dispatch` than its class.
  return (
    plainDispatchers.has(prototype?.constructor?.name) && Reflect.get(dispatcher, 'dispatch') === prototype.dispatch
  )
}

/** `Dispatcher1Wrapper` is how undici 8 exposes its global agent to older versions of Node. */
const plainDispatchers = new Set(['Agent', 'EnvHttpProxyAgent', 'Dispatcher1Wrapper'])
