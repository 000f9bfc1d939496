import { isError } from '../errors/redact.ts'

/**
 * Whether an error of the platform's own `fetch` proves that no connection to the host of `url` opened, so that the
 * service cannot have seen the request. An error that names another host or port proves nothing about this one.
 */
export function isConnectError(thrown: unknown, url: string): boolean {
  const target = new URL(url)
  for (let error = thrown, depth = 0; isError(error) && depth < 5; error = error.cause, depth += 1) {
    const { errors } = error as { errors?: unknown }
    // Each address of the host was tried. What one of them lets through, the others cannot take back.
    if (Array.isArray(errors) && errors.length > 0) return errors.every((single) => isConnectError(single, url))
    if (provesIt(error, target)) return true
  }
  return false
}

function provesIt(error: Error, target: URL): boolean {
  const { code, syscall, port, hostname } = error as { [name in 'code' | 'syscall' | 'port' | 'hostname']?: unknown }
  if (port !== undefined && Number(port) !== portOf(target)) return false
  if (hostname !== undefined && hostname !== target.hostname) return false
  if (syscall === 'connect' || syscall === 'getaddrinfo' || neverOpenedCodes.has(String(code))) return true
  return String(error.message).includes('client error (Connect)') // Deno
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
 * The `fetch` that the platform had when this package was loaded. One that was put in its place later is a wrapper of
 * somebody's, and what its errors say proves nothing. An object, so that a test can stand in for the platform.
 */
export const platform: { readonly fetch: unknown } = { fetch: /* @__PURE__ */ globalFetch() }

/** Whether the errors of this `fetch` prove that no connection opened: nothing between it and the network may retry. */
export function isPlatformFetch(fetch: unknown): boolean {
  if (fetch !== globalThis.fetch || globalFetch() !== platform.fetch) return false
  return dispatcherNames.every((name) => isPlainDispatcher(Reflect.get(globalThis, name)))
}

/** The global `fetch`, or its getter, without calling that: loading the package must not load the platform's fetch. */
function globalFetch(): unknown {
  const property = Object.getOwnPropertyDescriptor(globalThis, 'fetch')
  return property?.value ?? property?.get
}

/** Where Node's fetch finds the agent that sends its requests, also one that a program has set with undici. */
const dispatcherNames = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]

/** An agent that retries by itself, such as undici's `RetryAgent` or a composed one, hides what was sent before. */
function isPlainDispatcher(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher === null) return true
  const prototype = Object.getPrototypeOf(dispatcher)
  // A composed agent is a proxy that has another `dispatch` than its class.
  return (
    plainDispatchers.has(prototype?.constructor?.name) && Reflect.get(dispatcher, 'dispatch') === prototype.dispatch
  )
}

/** The last one is how undici 8 shows the agent of its own global to a Node that knows the older one. */
const plainDispatchers = new Set(['Agent', 'EnvHttpProxyAgent', 'Dispatcher1Wrapper'])
