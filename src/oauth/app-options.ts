import type { AuthorizationServer, Client } from 'oauth4webapi'
import { checkFlag, checkMilliseconds, checkText, hasStrayCharacters, strayCharacters } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { isLoopback, parseBaseUrl } from '../http/base-url.ts'

/** The options that an app has with and without a client secret. */
export interface CommonAppOptions {
  /** The service's address, with or without a path prefix, for example `https://api.supportwire.app`. */
  readonly baseUrl: string
  /** The identifier of the registered app (specification, section 4). */
  readonly clientId: string
  /** Where the browser returns after consent. Exactly as registered for the app (reference, section 3.1). */
  readonly redirectUri: string
  /**
   * The issuer that a callback's `iss` parameter must name, when the service sends one (RFC 9207).
   * @default the `baseUrl`, without a trailing slash
   */
  readonly issuer?: string | undefined
  /**
   * How long the admin has from `startLogin` to the callback, in ms.
   * @default 600_000, ten minutes
   */
  readonly transactionLifetime?: number | undefined
  /**
   * Allows plain http outside loopback, for `baseUrl` and `redirectUri`. The network then sees codes and tokens.
   * @default false
   */
  readonly allowInsecureHttp?: boolean | undefined
}

/** The checked options, and what oauth4webapi wants to know of service and app. */
export interface AppSettings {
  readonly baseUrl: string
  readonly redirectUri: string
  readonly transactionLifetime: number
  readonly server: AuthorizationServer & { readonly authorization_endpoint: string; readonly token_endpoint: string }
  readonly client: Client
}

export function readAppSettings(options: CommonAppOptions): AppSettings {
  const { issuer, transactionLifetime = 600_000 } = options
  const allowInsecureHttp = checkFlag('allowInsecureHttp', options.allowInsecureHttp)
  const baseUrl = parseBaseUrl(options.baseUrl, allowInsecureHttp).href.replace(/\/$/, '')
  return {
    baseUrl,
    redirectUri: checkRedirectUri(options.redirectUri, allowInsecureHttp),
    transactionLifetime: checkMilliseconds('transactionLifetime', transactionLifetime),
    server: {
      issuer: issuer === undefined ? baseUrl : checkText('issuer', issuer),
      authorization_endpoint: `${baseUrl}/api/oauth/authorize`,
      token_endpoint: `${baseUrl}/api/oauth/token`,
    },
    client: { client_id: checkText('clientId', options.clientId) },
  }
}

/** The parameters of a callback (RFC 6749, section 4.1.2; RFC 9207), which a redirect URI may not bring itself. */
const callbackParameters = ['code', 'state', 'error', 'error_description', 'error_uri', 'iss']

/**
 * Checks a redirect URI: absolute, without a fragment (RFC 6749, section 3.1.2) and without user or password; https,
 * http on loopback (RFC 8252, section 7.3) or when asked for aloud, or a native app's own scheme with a dot in it
 * (RFC 8252, section 7.1), which rules out `javascript:` and its kind. It stays as written: the service compares it
 * character by character.
 */
export function checkRedirectUri(redirectUri: unknown, allowInsecureHttp: boolean): string {
  const hint = 'Pass the redirect URI exactly as it is registered for the app.'
  const invalid = (problem: string) => new InvalidArgumentError('redirectUri', `\`redirectUri\` ${problem}.`, hint)
  if (typeof redirectUri !== 'string' || !URL.canParse(redirectUri)) throw invalid('is not an absolute address')
  // The URL parser would drop them, and the service compares what was written.
  if (hasStrayCharacters(redirectUri)) throw strayCharacters('redirectUri')
  const url = new URL(redirectUri)
  if (redirectUri.includes('#')) throw invalid('has a fragment')
  if (url.username !== '' || url.password !== '') throw invalid('has a user or password')
  if (url.protocol === 'http:' && !isLoopback(url) && !allowInsecureHttp) {
    throw invalid('is plain http outside loopback, which would show the authorization code to the network')
  }
  if (!/^https?:$/.test(url.protocol) && !url.protocol.includes('.')) {
    throw invalid('has a scheme that is neither https nor a reversed domain name of a native app')
  }
  const taken = callbackParameters.find((name) => url.searchParams.has(name))
  if (taken !== undefined) throw invalid(`has a query parameter "${taken}", which the service adds itself`)
  return redirectUri
}

/**
 * Whether a callback came to the redirect URI: same path and, with `compareOrigin`, same origin; with every query
 * parameter that the redirect URI has.
 */
export function isCallbackOf(callback: URL, redirectUri: string, compareOrigin: boolean): boolean {
  const expected = new URL(redirectUri)
  if (callback.pathname !== expected.pathname) return false
  if (compareOrigin && (callback.protocol !== expected.protocol || callback.host !== expected.host)) return false
  return [...expected.searchParams].every(([name, value]) => callback.searchParams.getAll(name).includes(value))
}
