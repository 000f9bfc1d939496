import { isError } from '../errors/redact.ts'

/**
 * Whether an error of the platform's own `fetch` proves that no connection to the host of `url` opened, so that the
 * service cannot have seen the request. An error that names another host or port proves nothing about this one.
 */
export function neverOpened(thrown: unknown, url: string): boolean {
  const target = new URL(url)
  for (let error = thrown, depth = 0; isError(error) && depth < 5; error = error.cause, depth += 1) {
    const { errors } = error as { errors?: unknown }
    // Each address of the host was tried. What one of them lets through, the others cannot take back.
    if (Array.isArray(errors) && errors.length > 0) return errors.every((single) => neverOpened(single, url))
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
