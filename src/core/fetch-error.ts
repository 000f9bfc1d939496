import type { Outcome, Remedy } from '../shared/errors/index.ts'
import { isError } from '../shared/errors/redact.ts'

/** What a failed `fetch` proves about the request, and what to do about it. */
export interface FetchFault {
  readonly outcome: Extract<Outcome, 'not-sent' | 'unknown'>
  readonly remedy: Extract<Remedy, 'retry' | 'fix'>
  /** Set if the usual hint does not fit. */
  readonly hint?: string
}

/** The fault of an error that proves nothing. */
export const unproven: FetchFault = { outcome: 'unknown', remedy: 'retry' }

/**
 * Returns the first row that matches an error of `fetch` or one of its causes. Any function but the platform's own may have
 * sent the request before it failed.
 */
export function classifyFetchError(thrown: unknown, isPlatform: boolean): FetchFault {
  try {
    const row = findRow(thrown, maxDepth)
    if (row === undefined) return unproven
    return { ...row, outcome: isPlatform || row.countsFromAnyFetch ? 'not-sent' : 'unknown' }
  } catch {
    // A getter of the error threw.
    return unproven
  }
}

/** A row matches an error that proves that no connection to the service was opened. */
interface Row extends Omit<FetchFault, 'outcome'> {
  matches(error: ErrorFacts): boolean
  /** Set if it proves the same from every `fetch`, not only from the platform's own. */
  readonly countsFromAnyFetch?: boolean
}

type ErrorFacts = { readonly [name in 'message' | 'code' | 'syscall' | 'errors']?: unknown }

const rows: readonly Row[] = [
  {
    // Fetch standard, section 2.9.
    matches: ({ message }) => message === 'bad port',
    remedy: 'fix',
    hint: '`fetch` blocks this port. Use another one in `baseUrl`.',
  },
  {
    // undici checks the methods of a handler before it sends anything.
    matches: ({ code, message }) => code === 'UND_ERR_INVALID_ARG' && handlerMethod.test(String(message)),
    remedy: 'fix',
    countsFromAnyFetch: true,
    hint: 'The `dispatcher` is from another version of undici than `fetch`. Import `fetch` from undici too.',
  },
  {
    matches: ({ code, message }) => untrustedCodes.has(code) || denoUntrusted.test(String(message)),
    remedy: 'fix',
    hint: 'This machine does not trust the certificate. Set `NODE_EXTRA_CA_CERTS` to the file of its CA, or start Node with `--use-system-ca`.',
  },
  {
    matches: ({ code, message }) => certificateCodes.has(code) || denoCertificate.test(String(message)),
    remedy: 'fix',
    hint: 'The certificate has expired, is not valid yet, or belongs to another host. Replace it, or correct `baseUrl` or the clock.',
  },
  {
    matches: ({ message }) => tunnelLogin.test(String(message)),
    remedy: 'fix',
    hint: 'Set the user and password of the proxy in its URL: `http://user:password@proxy.example:3128`.',
  },
  {
    matches: ({ message }) => tunnelForbidden.test(String(message)),
    remedy: 'fix',
    hint: 'The proxy does not allow the host of `baseUrl`. Ask its administrator to allow it.',
  },
  {
    matches: ({ code, message }) => code === 'UND_ERR_PRX_CONN' || tunnelRefused.test(String(message)),
    remedy: 'retry',
    hint: 'The proxy opened no tunnel to the host of `baseUrl`. Check both, then try again.',
  },
  { matches: ({ code }) => connectCodes.has(code), remedy: 'retry' },
  { matches: ({ syscall }) => connectCalls.has(syscall), remedy: 'retry' },
]

const handlerMethod = /^invalid on\w+ method$/

const untrustedCodes = new Set<unknown>([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const certificateCodes = new Set<unknown>(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID'])

const denoUntrusted = /invalid peer certificate: (UnknownIssuer|Other\()/
const denoCertificate = /invalid peer certificate/

// In the words of undici, Bun and Deno, which reports no other status.
const tunnelLogin = /^Proxy (response \(|refused to open a tunnel: )407\b|\(Connect\): proxy authentication required/
const tunnelForbidden = /^Proxy (response \(|refused to open a tunnel: )403\b/
const tunnelRefused = /^Proxy (response \(|refused to open a tunnel: )\d/

const connectCodes = new Set<unknown>([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused', // Bun
  'FailedToOpenSocket', // Bun
])

const connectCalls = new Set<unknown>(['connect', 'getaddrinfo'])

/** Causes are followed up to this depth. */
const maxDepth = 5

function findRow(error: unknown, depth: number): Row | undefined {
  if (!isError(error) || depth === 0) return undefined
  const { errors }: ErrorFacts = error
  if (Array.isArray(errors) && errors.length > 0) return rowOfAll(errors, depth - 1)
  return rows.find(({ matches }) => matches(error)) ?? findRow(error.cause, depth - 1)
}

/** All addresses of the host were tried, and none may have received the request. */
function rowOfAll(errors: readonly unknown[], depth: number): Row | undefined {
  let row: Row | undefined
  for (const error of errors) {
    row = findRow(error, depth)
    if (row === undefined) return undefined
  }
  return row
}

/** Functions that count as the platform's own `fetch`: the transport of a sweep, and those of tests. */
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

/** Not of Deno, whose `fetch` sends a request again when a reused connection breaks, even a POST. */
const runtimeTexts = [
  // Browsers, Bun and Workers. Proxies, and bound functions of V8 and Firefox, print no name.
  /^function fetch\(\) \{\s*\[native code\]\s*\}$/,
  // Node. Named `value` in early versions of 22.
  /require\('internal\/deps\/undici\/undici'\)/,
]

/** Where Node's fetch looks up its agent, including one set with undici. */
const dispatcherNames = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]

/** Whether an agent does not retry. One that does, such as undici's `RetryAgent`, hides earlier requests. */
function isPlainDispatcher(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher === null) return true
  const prototype = Object.getPrototypeOf(dispatcher)
  const parent = plainDispatchers.get(prototype?.constructor?.name)
  return (
    parent !== undefined &&
    // A class that extends a plain one may have its name.
    Object.getPrototypeOf(prototype).constructor.name === parent &&
    // A composed agent is a proxy with a different `dispatch` than its class.
    Reflect.get(dispatcher, 'dispatch') === prototype.dispatch
  )
}

/**
 * Classes of agents that do not retry, and what each extends. `Dispatcher1Wrapper` is how undici 8 exposes its global agent to
 * older versions of Node.
 */
const plainDispatchers = /* @__PURE__ */ new Map([
  ['Agent', 'DispatcherBase'],
  ['ProxyAgent', 'DispatcherBase'],
  ['EnvHttpProxyAgent', 'DispatcherBase'],
  ['Dispatcher1Wrapper', 'Dispatcher'],
])
