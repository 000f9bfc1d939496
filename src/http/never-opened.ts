import { isError } from '../errors/redact.ts'

/** Whether the error says that no connection came about, so that the service cannot have seen the request. */
export function neverOpened(thrown: unknown): boolean {
  for (let error = thrown, depth = 0; isError(error) && depth < 5; error = error.cause, depth += 1) {
    const { code, syscall } = error as { code?: unknown; syscall?: unknown }
    if (syscall === 'connect' || syscall === 'getaddrinfo' || neverOpenedCodes.has(String(code))) return true
    if (error.message.includes('client error (Connect)')) return true // Deno
  }
  return false
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
