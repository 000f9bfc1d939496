import { isSupportWorkspaceError, type Outcome, type Remedy } from '../errors/index.ts'
import { isError } from '../errors/redact.ts'
import { environmentVariable } from '../shared/environment.ts'
import { BadFetch, MissingFetch } from './response.ts'

/** What a failed `fetch` proves about the request, and what to do about it. */
export interface FetchFault {
  readonly outcome: Extract<Outcome, 'not-sent' | 'unknown'>
  readonly remedy: Extract<Remedy, 'retry' | 'fix'>
  /** What happened, as the predicate of a sentence. */
  readonly what: string
  /** Set if the usual hint does not fit. It is about the configuration. */
  readonly hint?: string | undefined
}

/**
 * Returns what an error of `fetch`, or of the body of its response, means. Any function but the platform's own may have
 * sent the request before it failed, unless its error states the opposite.
 */
export function classifyFetchError(thrown: unknown, from: 'platform' | 'custom' | 'body'): FetchFault {
  const what = from === 'body' ? 'failed because the response was cut off' : 'received no response'
  if (thrown instanceof BadFetch || (from === 'custom' && isMistake(thrown))) {
    return { outcome: 'unknown', remedy: 'fix', what: 'failed in the `fetch` option', hint: 'Fix that function.' }
  }
  if (from === 'body') return { outcome: 'unknown', remedy: 'retry', what }
  if (thrown instanceof MissingFetch) {
    return { outcome: 'not-sent', remedy: 'fix', what: 'failed', hint: 'Pass one as the option `fetch`.' }
  }
  const stated = find(statements, thrown)
  if (stated !== undefined) return { ...stated, outcome: 'not-sent', what }
  const found = find(rows, thrown)
  if (found === undefined || from === 'custom') return { remedy: 'retry', ...found, outcome: 'unknown', what }
  return { ...found, hint: found.hint ?? unusedProxy(), outcome: 'not-sent', what }
}

/** Whether an error of a custom `fetch` comes from a mistake in its code. Networks fail with a TypeError, too. */
function isMistake(thrown: unknown): boolean {
  if (isSupportWorkspaceError(thrown)) return true
  return isError(thrown) && ['ReferenceError', 'SyntaxError', 'RangeError'].includes(thrown.name)
}

type ErrorFacts = { readonly [name in 'message' | 'code' | 'syscall' | 'errors' | 'outcome']?: unknown }
type Advice = Pick<FetchFault, 'remedy' | 'hint'>
type Row = (error: ErrorFacts) => Advice | false

/** Errors which say that nothing was sent, from any `fetch`. */
const statements: readonly Row[] = [
  ({ outcome }) => outcome === 'not-sent' && { remedy: 'retry' },
  // undici checks the methods of a handler before it sends anything.
  ({ code, message }) =>
    code === 'UND_ERR_INVALID_ARG' &&
    /^invalid on\w+ method$/.test(String(message)) && {
      remedy: 'fix',
      hint: 'The `dispatcher` is from another undici than `fetch`. Import both from the same installed package.',
    },
]

/** Errors which prove that no connection to the service was opened, if `fetch` sends a request only once. */
const rows: readonly Row[] = [
  ({ code }) =>
    plainHttpCodes.has(code) && {
      remedy: 'fix',
      hint: 'The server speaks plain http on this port. Use the port of https in `baseUrl`, or `http:` on this machine.',
    },
  ({ code }) =>
    certificateCodes.has(code) && {
      remedy: 'fix',
      hint: 'If this machine does not trust the certificate, set `NODE_EXTRA_CA_CERTS` to the file of its CA, or start Node with `--use-system-ca`. Otherwise replace it, or correct `baseUrl` or the clock.',
    },
  ({ code, message }) => {
    // undici has no code for a proxy that opens no tunnel.
    const status = /^Proxy response \((\d+)\)/.exec(String(message))?.[1] ?? ''
    if (status === '' && code !== 'UND_ERR_PRX_CONN') return false
    const hint = `The proxy opened no tunnel to the host of \`baseUrl\`${status && `, but responded with ${status}`}. Check that it reaches and allows the host, and that its URL has its user and password (\`http://user:password@proxy.example:3128\`).`
    return { remedy: status.startsWith('4') ? 'fix' : 'retry', hint }
  },
  ({ code, syscall }) => (connectCodes.has(code) || connectCalls.has(syscall)) && { remedy: 'retry' },
]

/** How OpenSSL names a response that is not encrypted. */
const plainHttpCodes = new Set<unknown>(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])

const certificateCodes = new Set<unknown>([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID'],
])

const connectCodes = new Set<unknown>([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['ConnectionRefused', 'FailedToOpenSocket'], // Bun
])
const connectCalls = new Set<unknown>(['connect', 'getaddrinfo'])

/** Node ignores the variables of a proxy unless it is told to use them. */
function unusedProxy(): string | undefined {
  const name = ['HTTPS_PROXY', 'https_proxy'].find(environmentVariable)
  if (name === undefined || environmentVariable('NODE_USE_ENV_PROXY') || 'Bun' in globalThis) return undefined
  return `\`${name}\` is set, but Node uses it only with \`NODE_USE_ENV_PROXY=1\`. If the host is behind that proxy, set both.`
}

/** Finds the row of an error or of a cause, at most five deep. If it lists errors, one for each address, all need a row. */
function find(table: readonly Row[], error: unknown, depth = 5): Advice | undefined {
  if (!isError(error) || depth === 0) return undefined
  const { errors }: ErrorFacts = error
  if (Array.isArray(errors) && errors.length > 0) {
    const areAllFound = errors.every((each) => find(table, each, depth - 1) !== undefined)
    return areAllFound ? find(table, errors[0], depth - 1) : undefined
  }
  for (const row of table) {
    const found = row(error)
    if (found !== false) return found
  }
  return find(table, error.cause, depth - 1)
}

/**
 * Whether connection errors prove that nothing was sent. In Deno they do not, because its `fetch` sends a request again
 * when a reused connection breaks, even a POST. In Node they do if the global agents do not retry.
 */
export function isPlatformFetch(option: unknown): boolean {
  if (option !== undefined || 'Deno' in globalThis) return false
  const agents = [1, 2].map((version) => Reflect.get(globalThis, Symbol.for(`undici.globalDispatcher.${version}`)))
  return agents.every(isPlainAgent)
}

/** Whether an agent is of a class that sends a request once. Others, such as `RetryAgent`, hide the requests before the last. */
function isPlainAgent(agent: unknown): boolean {
  if (typeof agent !== 'object' || agent === null) return true
  const prototype = Object.getPrototypeOf(agent)
  const parent = prototype && Object.getPrototypeOf(prototype)
  // A subclass can have the name of its parent, and a composed agent has another `dispatch`.
  return (
    plainAgents.test(`${prototype?.constructor?.name} extends ${parent?.constructor?.name}`) &&
    Reflect.get(agent, 'dispatch') === prototype.dispatch
  )
}

/** `Dispatcher1Wrapper` is how undici 8 exposes its global agent to older versions of Node. */
const plainAgents = /^((EnvHttpProxy|Proxy)?Agent extends DispatcherBase|Dispatcher1Wrapper extends Dispatcher)$/
