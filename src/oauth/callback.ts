import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi'
import { InvalidArgumentError, LoginError } from '../errors/index.ts'
import type { WebRequest, WebURL } from '../web-types.ts'
import type { AppSettings } from './app-options.ts'
import { type LoginTransaction, markUsed, openSecrets } from './transaction.ts'
import { quote, untrustedText } from './untrusted-text.ts'

/**
 * The URL that the browser returned to: a string (absolute, or a path with its query, as in Node's `request.url`), a
 * `URL`, or the `Request` itself.
 *
 * An absolute string and a `URL` must have the origin of the redirect URI. For a `Request` and a bare path only the path
 * is compared: behind a proxy that terminates TLS, a server does not see the scheme and host that the browser uses.
 */
export type LoginCallback = string | WebURL | WebRequest

/** A callback that has passed every check. */
export interface CheckedCallback {
  /** Branded by oauth4webapi, whose code exchange accepts nothing else. */
  readonly parameters: URLSearchParams
  readonly code: string
  readonly state: string
  readonly codeVerifier: string
}

/**
 * Checks a callback against its transaction, in this order: the transaction, the URL, duplicate parameters, state, issuer,
 * an error from the service, code. The transaction is marked as used once the state matches.
 */
export function checkCallback(
  settings: AppSettings,
  callback: LoginCallback,
  transaction: LoginTransaction,
): CheckedCallback {
  const held = openSecrets(transaction)
  checkBinding(settings, transaction)
  const { url, hasOrigin } = parseCallback(callback, settings.redirectUri)
  if (!isCallbackOf(url, settings.redirectUri, hasOrigin)) throw redirectUriMismatch()
  checkDuplicates(url.searchParams, settings.redirectUri)
  checkState(url.searchParams.get('state'), held.state)
  // Only now: a forged callback must not end the login of the user who started it.
  markUsed(transaction)
  const secrets = [held.state, held.codeVerifier, url.searchParams.get('code') ?? '']
  const parameters = validateParameters(settings, url.searchParams, held.state, secrets)
  const code = parameters.get('code')
  if (code === null || code === '') throw missingParameter('code')
  return { parameters, code, state: held.state, codeVerifier: held.codeVerifier }
}

/** Rejects duplicate parameters (RFC 6749, section 3.1), because their meaning is ambiguous. */
function checkDuplicates(parameters: URLSearchParams, redirectUri: string): void {
  const own = new URL(redirectUri).searchParams
  const names = [...parameters.keys()].filter((name) => !own.has(name))
  if (new Set(names).size === names.length) return
  throw new LoginError('The callback contains the same parameter twice.', {
    reason: 'duplicate_parameter',
    hint: 'Start the login again. The service does not send such a callback, so check who built the URL.',
  })
}

/** Returns the URL of the callback, and whether its origin is reliable. */
function parseCallback(callback: LoginCallback, redirectUri: string): { url: URL; hasOrigin: boolean } {
  // The error of the URL parser quotes its input, and with it the code.
  if (typeof callback === 'string') {
    // An absolute string overrides the base, and its origin is then compared.
    if (URL.canParse(callback, redirectUri)) return { url: new URL(callback, redirectUri), hasOrigin: true }
  } else if (typeof callback === 'object' && callback !== null) {
    const { href, url } = callback as { readonly href?: unknown; readonly url?: unknown }
    if (typeof href === 'string' && URL.canParse(href)) return { url: new URL(href), hasOrigin: true }
    if (href === undefined && typeof url === 'string' && URL.canParse(url))
      return { url: new URL(url), hasOrigin: false }
  }
  throw new InvalidArgumentError(
    'callback',
    '`callback` must be a URL.',
    'Pass the URL that the browser returned to, as a string, a `URL` or a web `Request`. For the request of node:http or Express, pass its `url`, or use `toNodeListener`.',
  )
}

/** A code must only be sent to the service that the login was started with (mix-up: RFC 9700, section 4.4). */
function checkBinding(settings: AppSettings, transaction: LoginTransaction): void {
  if (transaction.redirectUri !== settings.redirectUri) throw redirectUriMismatch()
  if (transaction.clientId === settings.client.client_id && transaction.baseUrl === settings.baseUrl) return
  throw new LoginError('The login was started by another app or for another service.', {
    reason: 'transaction_invalid',
    hint: 'Finish it with the same `baseUrl` and `clientId` that started it.',
  })
}

function checkState(received: string | null, expected: string): void {
  if (received === null || received === '') throw missingParameter('state')
  if (isEqual(received, expected)) return
  throw new LoginError("The callback's `state` does not match this login.", {
    reason: 'state_mismatch',
    hint: 'Start the login again. If this happens often, check that each browser keeps its own transaction.',
  })
}

/** Compares strings in constant time. */
function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < b.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}

function validateParameters(
  settings: AppSettings,
  parameters: URLSearchParams,
  state: string,
  secrets: readonly string[],
): URLSearchParams {
  const issuer = parameters.get('iss')
  // oauth4webapi treats an empty `iss` as absent.
  if (issuer !== null && issuer !== settings.server.issuer) {
    throw new LoginError("The callback's `iss` does not match the issuer of this service.", {
      reason: 'issuer_mismatch',
      hint: 'If the issuer of the service differs from `baseUrl`, pass it as `issuer`.',
    })
  }
  try {
    return validateAuthResponse(settings.server, settings.client, parameters, state)
  } catch (error) {
    // oauth4webapi's errors contain the code, so none becomes a cause.
    if (error instanceof AuthorizationResponseError) throw authorizationError(parameters, secrets)
    throw new LoginError('The callback has parameters of an unsupported kind of login.', {
      reason: 'authorization_failed',
      hint: 'Use the authorization code flow: start the login with `startLogin`.',
    })
  }
}

function authorizationError(parameters: URLSearchParams, secrets: readonly string[]): LoginError {
  const code = untrustedText(parameters.get('error'), secrets)
  const description = untrustedText(parameters.get('error_description'), secrets)
  if (code === 'access_denied') {
    return new LoginError(`Access was denied${quote(undefined, description)}.`, {
      reason: 'access_denied',
      code,
      description,
      hint: 'Start the login again once the admin agrees to grant access.',
    })
  }
  return new LoginError(`The service rejected the login${quote(code, description)}.`, {
    reason: 'authorization_failed',
    code,
    description,
    hint: 'Check that client id, redirect URI and scopes match the registration of the app.',
  })
}

function missingParameter(name: string): LoginError {
  return new LoginError(`The callback has no \`${name}\`.`, {
    reason: 'missing_parameter',
    hint: 'Pass the complete URL that the browser returned to, including its query.',
  })
}

function redirectUriMismatch(): LoginError {
  return new LoginError('The callback URL does not match the redirect URI of this login.', {
    reason: 'redirect_uri_mismatch',
    hint: 'Use the same `redirectUri` to start and to finish. Behind a proxy that rewrites paths, pass the public URL.',
  })
}

/**
 * Whether a callback has the path of the redirect URI, its query parameters with exactly the same values and, with `compareOrigin`, its origin.
 */
function isCallbackOf(callback: URL, redirectUri: string, compareOrigin: boolean): boolean {
  const expected = new URL(redirectUri)
  if (callback.pathname !== expected.pathname) return false
  if (compareOrigin && (callback.protocol !== expected.protocol || callback.host !== expected.host)) return false
  // A repeated parameter is ambiguous: the app may read another value of it than was compared.
  return [...new Set(expected.searchParams.keys())].every((name) => {
    const values = callback.searchParams.getAll(name)
    const expectedValues = expected.searchParams.getAll(name)
    return values.length === expectedValues.length && values.every((value, index) => value === expectedValues[index])
  })
}
