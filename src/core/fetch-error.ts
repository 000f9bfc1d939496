import { isSupportWorkspaceError, type Outcome, type Remedy } from '../errors/index.ts'
import { isError } from '../errors/redact.ts'
import { environmentVariable } from '../shared/environment.ts'
import { BadFetch } from './response.ts'

/** What a failed `fetch` proves about the request, and what to do about it. */
export interface FetchFault {
  readonly outcome: Extract<Outcome, 'not-sent' | 'unknown'>
  readonly remedy: Extract<Remedy, 'retry' | 'fix'>
  /** What happened, as the predicate of a sentence. */
  readonly what: string
  /** The reason in plain words, if the error of the platform is hard to understand. */
  readonly reason?: string
  /** Set if the usual hint does not fit. */
  readonly hint?: string | undefined
  /** Whether the hint is about the configuration, so that it helps also where a write must be checked first. */
  readonly isConfiguration?: boolean
}

/**
 * Returns what an error of `fetch`, or of the body of its response, means. Any function but the platform's own may have
 * sent the request before it failed, unless the error has the property `outcome` with the value `not-sent`.
 */
export function classifyFetchError(thrown: unknown, from: 'platform' | 'custom' | 'body'): FetchFault {
  const what = from === 'body' ? 'failed because the response was cut off' : 'received no response'
  const unknown: FetchFault = { outcome: 'unknown', remedy: 'retry', what }
  if (thrown instanceof BadFetch || (from === 'custom' && isMistake(thrown))) {
    return { ...unknown, remedy: 'fix', what: 'failed in the `fetch` option', hint: 'Fix that function.' }
  }
  const row = findRow(thrown, maxDepth)
  if (row === undefined || (from === 'body' && !row.provesNothing)) return unknown
  const { matches, countsFromAnyFetch, provesNothing, ...known } = row
  const outcome = !provesNothing && (from === 'platform' || countsFromAnyFetch) ? 'not-sent' : 'unknown'
  const hint = row.hint ?? (from === 'platform' ? unusedProxy() : undefined)
  return { ...unknown, ...known, outcome, hint, isConfiguration: hint !== undefined }
}

/** Node ignores the variables of a proxy unless it is told to use them. */
function unusedProxy(): string | undefined {
  const name = ['HTTPS_PROXY', 'https_proxy'].find(environmentVariable)
  if (name === undefined || environmentVariable('NODE_USE_ENV_PROXY') || 'Bun' in globalThis) return undefined
  return `\`${name}\` is set, but Node uses it only with \`NODE_USE_ENV_PROXY=1\`. If the host is behind that proxy, set both.`
}

/** Whether an error of a custom `fetch` comes from a mistake in its code. Networks fail with a TypeError, too. */
function isMistake(thrown: unknown): boolean {
  if (isSupportWorkspaceError(thrown)) return true
  return isError(thrown) && ['ReferenceError', 'SyntaxError', 'RangeError'].includes(thrown.name)
}

/**
 * A row matches an error which proves that no connection to the service was opened. Rows with `provesNothing` are
 * exceptions.
 */
interface Row extends Pick<FetchFault, 'remedy' | 'reason' | 'hint'> {
  matches(error: ErrorFacts): boolean
  /** Set if the error is also a proof from a custom `fetch`. */
  readonly countsFromAnyFetch?: boolean
  /** Set if the request may have been sent. The row then only has a better hint. */
  readonly provesNothing?: boolean
}

type ErrorFacts = { readonly [name in 'message' | 'code' | 'syscall' | 'errors' | 'outcome']?: unknown }

const rows: readonly Row[] = [
  // The statement of a custom `fetch`.
  { matches: ({ outcome }) => outcome === 'not-sent', remedy: 'retry', countsFromAnyFetch: true },
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
    hint: 'The `dispatcher` is from another undici than `fetch`. Import both from the same installed package.',
  },
  {
    matches: ({ code }) => plainHttpCodes.has(code),
    remedy: 'fix',
    reason: 'the server speaks plain http on this port',
    hint: 'Use the port of https in `baseUrl`, or `http:` on this machine.',
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
    matches: ({ message }) => tunnelStatus(message) === '407',
    remedy: 'fix',
    hint: 'Set the user and password of the proxy in its URL: `http://user:password@proxy.example:3128`.',
  },
  {
    matches: ({ message }) => tunnelStatus(message) === '403',
    remedy: 'fix',
    hint: 'The proxy does not allow the host of `baseUrl`. Ask its administrator to allow it.',
  },
  {
    matches: ({ code, message }) => code === 'UND_ERR_PRX_CONN' || tunnelStatus(message) !== undefined,
    remedy: 'retry',
    hint: 'The proxy opened no tunnel to the host of `baseUrl`. Check both, then try again.',
  },
  {
    matches: ({ code }) => code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT',
    remedy: 'retry',
    provesNothing: true,
    hint: 'The agent of `fetch` has its own time limit, in Node 300 seconds. Pass a `fetch` with an agent of undici whose `headersTimeout` and `bodyTimeout` are 0.',
  },
  { matches: ({ code }) => connectCodes.has(code), remedy: 'retry' },
  { matches: ({ syscall }) => connectCalls.has(syscall), remedy: 'retry' },
]

const handlerMethod = /^invalid on\w+ method$/

/** How OpenSSL names a response that is not encrypted. */
const plainHttpCodes = new Set<unknown>(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])

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

/** Returns the status with which a proxy refused a tunnel. undici has no code for it. */
function tunnelStatus(message: unknown): string | undefined {
  return /^Proxy response \((\d+)\)/.exec(String(message))?.[1]
}

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

/** Returns a row only if the errors of all addresses have one, because the request could have reached each of them. */
function rowOfAll(errors: readonly unknown[], depth: number): Row | undefined {
  let row: Row | undefined
  for (const error of errors) {
    row = findRow(error, depth)
    if (row === undefined) return undefined
  }
  return row
}

/**
 * Whether the connection errors of a client's `fetch` prove that nothing was sent. They do if it is the platform's
 * `fetch` with an agent that does not retry. In Deno they do not, because its `fetch` sends a request again when a
 * reused connection breaks, even a POST.
 */
export function isPlatformFetch(option: unknown): boolean {
  if (option !== undefined || 'Deno' in globalThis) return false
  return dispatcherNames.every((name) => isPlainDispatcher(Reflect.get(globalThis, name)))
}

/** Where Node's fetch looks up its agent, including one set with undici. */
const dispatcherNames = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]

/**
 * Whether an agent sends a request only once. An agent that retries, such as undici's `RetryAgent`, hides earlier
 * requests.
 */
function isPlainDispatcher(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher === null) return true
  const prototype = Object.getPrototypeOf(dispatcher)
  const parent = plainDispatchers.get(prototype?.constructor?.name)
  return (
    parent !== undefined &&
    // A class that extends a plain one might have its name.
    Object.getPrototypeOf(prototype).constructor.name === parent &&
    // A composed agent is a proxy with a different `dispatch` than its class.
    Reflect.get(dispatcher, 'dispatch') === prototype.dispatch
  )
}

/**
 * Classes of agents that do not retry, and what each extends. `Dispatcher1Wrapper` is how undici 8 exposes its global
 * agent to older versions of Node.
 */
const plainDispatchers = /* @__PURE__ */ new Map([
  ['Agent', 'DispatcherBase'],
  ['ProxyAgent', 'DispatcherBase'],
  ['EnvHttpProxyAgent', 'DispatcherBase'],
  ['Dispatcher1Wrapper', 'Dispatcher'],
])
