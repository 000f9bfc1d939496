import { isError } from '../errors/redact.ts'

/**
 * Whether an error of the platform's `fetch` proves that no connection to the host of `url` was opened, so that the
 * service cannot have received the request. An error about another host or port proves nothing.
 */
export function isConnectError(thrown: unknown, url: string): boolean {
  try {
    return provesNoConnection(thrown, url)
  } catch {
    // A getter of the error threw.
    return false
  }
}

function provesNoConnection(thrown: unknown, url: string): boolean {
  const target = new URL(url)
  for (let error = thrown, depth = 0; isError(error) && depth < 5; error = error.cause, depth += 1) {
    const { errors } = error as { errors?: unknown }
    // All addresses of the host were tried, and none may have received the request.
    if (Array.isArray(errors) && errors.length > 0) return errors.every((single) => provesNoConnection(single, url))
    if (provesIt(error, target)) return true
  }
  return false
}

function provesIt(error: Error, target: URL): boolean {
  const { code, syscall, port, hostname } = error as { [name in 'code' | 'syscall' | 'port' | 'hostname']?: unknown }
  if (port !== undefined && Number(port) !== portOf(target)) return false
  if (hostname !== undefined && hostname !== target.hostname) return false
  if (syscall === 'connect' || syscall === 'getaddrinfo' || neverOpenedCodes.has(String(code))) return true
  // Deno; and a port that fetch blocks (Fetch standard, section 2.9).
  return /client error \(Connect\)|^bad port$/.test(String(error.message))
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}

const neverOpenedCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ConnectionRefused', // Bun
  'FailedToOpenSocket', // Bun
])

/**
 * The global `fetch` when this package was loaded. A later replacement is a wrapper, whose errors prove nothing. An
 * object, so that tests can replace it.
 */
export const platform: { fetch: unknown } = { fetch: /* @__PURE__ */ fetchProperty() }

/** Returns the global `fetch`. Early versions of Node 22 define a getter, which is replaced on the first access. */
export function globalFetch(): typeof globalThis.fetch {
  const isPlatform = fetchProperty() === platform.fetch
  const { fetch } = globalThis
  if (isPlatform) platform.fetch = fetchProperty()
  return fetch
}

/**
 * Whether the errors of a `fetch` can prove that no connection was opened: it must be the platform's, without a
 * retrying agent.
 */
export function isPlatformFetch(fetch: unknown): boolean {
  if (fetch !== globalThis.fetch || fetchProperty() !== platform.fetch) return false
  return dispatcherNames.every((name) => isPlainDispatcher(Reflect.get(globalThis, name)))
}

/**
 * Returns the global `fetch`, or its getter uncalled, because loading this package must not load the platform's fetch.
 */
function fetchProperty(): unknown {
  const property = Object.getOwnPropertyDescriptor(globalThis, 'fetch')
  return property?.value ?? property?.get
}

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

/** What an error of `fetch` proves, and what to do about it. */
export interface FetchVerdict {
  readonly outcome: 'not-sent' | 'unknown'
  readonly remedy: 'retry' | 'fix'
  readonly hint?: string | undefined
}

export function classifyFetchError(thrown: unknown, url: string, isPlatform: boolean): FetchVerdict {
  return { outcome: isPlatform && isConnectError(thrown, url) ? 'not-sent' : 'unknown', remedy: 'retry' }
}
