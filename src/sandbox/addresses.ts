import type { SandboxSettings } from './sandbox-options.ts'

/** The addresses that a sandbox is reached at. They come from its socket and its options, never from a request. */
export type Addresses = ReturnType<typeof createAddresses>

/**
 * Returns the addresses of a sandbox with this base URL: the names of this machine, the address that it listens on and
 * the allowed hosts. A page on another name could be any website whose domain resolves to this machine (DNS rebinding).
 */
export function createAddresses(url: string, host: string, allowedHosts: readonly string[]) {
  const { port } = new URL(url)
  const named = new Set(allowedHosts.map(withoutBrackets))
  /** Returns whether the name or address of a host is the sandbox's own. */
  const isOwnHost = (hostname: string): boolean => {
    const name = withoutBrackets(hostname)
    return isLoopback(name) || name === withoutBrackets(host) || named.has(name)
  }
  /** Returns whether an `Origin` header names the sandbox itself. Its pages send this origin. */
  const isOwnOrigin = (origin: string): boolean => {
    if (!/^https?:/.test(origin) || !URL.canParse(origin)) return false
    const { hostname, port: originPort } = new URL(origin)
    // A proxy in front of an allowed host can listen on any port.
    return named.has(withoutBrackets(hostname)) || (isOwnHost(hostname) && originPort === port)
  }
  return { url, isOwnHost, isOwnOrigin }
}

/** Returns whether pages of this origin can read responses. */
export function allowsOrigin(cors: SandboxSettings['cors'], origin: string): boolean {
  if (typeof cors === 'boolean') return cors
  return cors === 'loopback' ? isLoopbackOrigin(origin) : cors.includes(origin)
}

/** Returns whether a page of this origin was served by this machine. */
export function isLoopbackOrigin(origin: string): boolean {
  return /^https?:\/\/[^/?#@]+$/.test(origin) && URL.canParse(origin) && isLoopback(new URL(origin).hostname)
}

function isLoopback(hostname: string): boolean {
  return /^(([a-z\d-]+\.)*localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(hostname)
}

function withoutBrackets(host: string): string {
  return host.toLowerCase().replace(/^\[|\]$/g, '')
}
