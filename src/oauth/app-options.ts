import { InvalidArgumentError } from '../errors/index.ts'
import {
  type Check,
  type Checked,
  checkCharacters,
  checkFlag,
  checkMilliseconds,
  checkText,
} from '../shared/check-options.ts'
import { isLoopback, parseBaseUrl } from '../shared/credentials.ts'

/** The options of an app, with or without a client secret. */
export interface CommonAppOptions {
  /** The service's URL, with or without a path prefix, for example `https://api.supportwire.app`. */
  readonly baseUrl: string
  /** The client id of the registered app (see [where it comes from](docs/service.md#client-id-and-secret)). */
  readonly clientId: string
  /**
   * The URL that the browser returns to after consent, exactly as registered for the app
   * ([reference](docs/service.md#login)).
   */
  readonly redirectUri: string
  /**
   * The issuer that a callback's `iss` parameter must name, if the service sends one (RFC 9207).
   * @default the `baseUrl`, without a trailing slash
   */
  readonly issuer?: string | undefined
  /**
   * Maximum time between `startLogin` and the callback, in milliseconds.
   * @default 600_000
   */
  readonly transactionLifetime?: number | undefined
  /**
   * Allows plain http outside loopback, for `baseUrl` and `redirectUri`. The network can then read codes and tokens.
   * @default false
   */
  readonly allowInsecureHttp?: boolean | undefined
}

export const commonChecks = {
  // The URLs are checked together with `allowInsecureHttp`.
  baseUrl: (_, baseUrl) => baseUrl,
  clientId: checkText,
  redirectUri: (_, redirectUri) => redirectUri,
  issuer: checkText,
  transactionLifetime: checkMilliseconds,
  allowInsecureHttp: checkFlag,
} satisfies Record<keyof CommonAppOptions, Check<unknown>>

/** The validated options of an app. */
export interface AppSettings extends Pick<CommonAppOptions, 'baseUrl' | 'clientId' | 'redirectUri'> {
  readonly issuer: string
  readonly transactionLifetime: number
  /** The secrets of the app, which errors must not quote. Empty without a client secret. */
  readonly secrets: readonly string[]
}

export function readAppSettings(given: Checked<typeof commonChecks>): AppSettings {
  const { allowInsecureHttp = false, transactionLifetime = 600_000 } = given
  const baseUrl = parseBaseUrl(given.baseUrl, allowInsecureHttp).href.replace(/\/$/, '')
  return {
    baseUrl,
    clientId: given.clientId ?? checkText('clientId', undefined),
    redirectUri: checkRedirectUri(given.redirectUri, allowInsecureHttp),
    issuer: given.issuer ?? baseUrl,
    transactionLifetime,
    secrets: [],
  }
}

/**
 * Checks a redirect URI. The URI must be absolute, and free of credentials and of a fragment (RFC 6749, section 3.1.2).
 * These schemes are accepted: https, http on loopback (RFC 8252, section 7.3) or with `allowInsecureHttp`, and the
 * scheme of a native app, which contains a dot (RFC 8252, section 7.1). The dot excludes schemes such as `javascript:`.
 * Returns the URI as written, because the service compares it character by character.
 */
function checkRedirectUri(redirectUri: unknown, allowInsecureHttp: boolean): string {
  const hint = 'Pass the redirect URI exactly as registered for the app.'
  const invalid = (problem: string) => new InvalidArgumentError('redirectUri', `\`redirectUri\` ${problem}.`, hint)
  if (typeof redirectUri !== 'string' || !URL.canParse(redirectUri)) throw invalid('must be an absolute URL')
  // The URL parser would drop these characters, but the service compares the URI as written.
  checkCharacters('redirectUri', redirectUri)
  const url = new URL(redirectUri)
  if (redirectUri.includes('#')) throw invalid('must not have a fragment')
  if (url.username !== '' || url.password !== '') throw invalid('must not have a username or password')
  if (url.protocol === 'http:' && !isLoopback(url) && !allowInsecureHttp) {
    throw invalid('uses plain http outside loopback, which would expose the authorization code to the network')
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:' && !url.protocol.includes('.')) {
    throw invalid('must use https, or the scheme of a native app (a reversed domain name)')
  }
  return redirectUri
}
