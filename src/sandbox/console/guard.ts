import { badRequest, forbidden } from '../http-error.ts'
import { mediaType } from '../incoming-request.ts'

/**
 * The headers of every response of the console. Scripts, styles and connections are its own; no other site can frame it,
 * load its files or keep a reference to its window.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/**
 * Throws a 403 unless the URL names this machine or the address that the sandbox listens on. A site whose domain resolves
 * to this machine (DNS rebinding) would have the console's origin in the browser.
 */
export function checkHost({ hostname, host }: URL, listenHost: string): void {
  const name = hostname.replace(/^\[|\]$/g, '')
  const isLoopback = name === 'localhost' || name === '::1' || /^127(\.\d+){3}$/.test(name)
  // A sandbox that listens on every interface is opened by its address. An address is not a domain, so it cannot be rebound.
  const isAddress = /^[\d.]+$/.test(name) || name.includes(':')
  const listensEverywhere = listenHost === '0.0.0.0' || listenHost === '::'
  if (isLoopback || name === listenHost.toLowerCase() || (listensEverywhere && isAddress)) return
  throw forbidden(`The console does not respond to the host ${host}. Open it at localhost or at the address of --host.`)
}

/** Throws a 403 if a page of another origin sent the request. Programs that are not browsers send neither header. */
export function checkSameOrigin(headers: Headers, url: URL): void {
  const site = headers.get('sec-fetch-site') ?? 'same-origin'
  const origin = headers.get('origin') ?? url.origin
  if ((site === 'same-origin' || site === 'none') && origin === url.origin) return
  throw forbidden('Only the console itself can send this request.')
}

/** Throws a 400 unless the body is JSON, which a form of another site cannot send. */
export function checkJson(headers: Headers): void {
  if (mediaType(headers.get('content-type')) === 'application/json') return
  throw badRequest('The body must be sent as `content-type: application/json`.')
}
