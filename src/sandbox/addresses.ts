import type { Addresses } from './app-env.ts'
import type { SandboxSettings } from './settings.ts'

/**
 * Returns the addresses of a sandbox with this base URL: the names of this machine, the address that it listens on and the
 * allowed hosts. A page on another name could be any website whose domain resolves to this machine (DNS rebinding).
 */
export function createAddresses(url: string, host: string, allowedHosts: readonly string[]): Addresses {
  const { port } = new URL(url)
  const named = new Set(allowedHosts.map(withoutBrackets))
  const isOwnHost = (hostname: string): boolean => {
    const name = withoutBrackets(hostname)
    return isLoopback(name) || name === withoutBrackets(host) || named.has(name)
  }
  const withPort = (name: string): string => new URL(`http://${name.includes(':') ? `[${name}]` : name}:${port}`).origin
  return {
    url,
    origins: [url, withPort('localhost'), ...[...named].map(withPort)],
    isOwnHost,
    isOwnOrigin(origin) {
      if (!URL.canParse(origin)) return false
      const { protocol, hostname, port: originPort } = new URL(origin)
      if (protocol !== 'http:' && protocol !== 'https:') return false
      // A proxy in front of an allowed host can listen on any port.
      return named.has(withoutBrackets(hostname)) || (isOwnHost(hostname) && originPort === port)
    },
  }
}

/** Returns whether pages of this origin may read responses. */
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
