import type { AuthorizationServer, Client } from 'oauth4webapi'
import { checkFlag, checkMilliseconds, checkText } from '../check-options.ts'
import { parseBaseUrl } from '../http/base-url.ts'
import { checkRedirectUri } from './redirect-uri.ts'

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
