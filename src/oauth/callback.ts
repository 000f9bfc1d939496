import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi'
import { InvalidArgumentError, LoginError } from '../errors/index.ts'
import type { WebRequest, WebURL } from '../web-types.ts'
import type { AppSettings } from './app-options.ts'
import { isCallbackOf } from './app-options.ts'
import { type LoginTransaction, markUsed, openSecrets } from './transaction.ts'
import { encodedForms, quote, untrustedText } from './untrusted-text.ts'

/**
 * The address that the browser came back with: as text (absolute, or from the path on, as a Node server gets it), as a
 * `URL`, or as the `Request` itself.
 *
 * Text with an origin and a `URL` must have the origin of the redirect URI. A `Request` and a bare path need only have
 * its path: behind a proxy that ends TLS, a server sees another scheme and host than the browser.
 */
export type LoginCallback = string | WebURL | WebRequest

/** A callback that passed every check. */
export interface CheckedCallback {
  /** Branded by oauth4webapi: the only thing that its code exchange accepts. */
  readonly parameters: URLSearchParams
  readonly code: string
  readonly state: string
  readonly codeVerifier: string
}

/**
 * Checks a callback against the transaction that it claims to end, in this order: the transaction itself, the address,
 * repeated parameters, state, issuer, the service's refusal, code. From a matching state on, the transaction is used.
 */
export function checkCallback(
  settings: AppSettings,
  callback: LoginCallback,
  transaction: LoginTransaction,
): CheckedCallback {
  const held = openSecrets(transaction)
  checkBinding(settings, transaction)
  const { url, hasOrigin } = callbackUrl(callback, settings.redirectUri)
  if (!isCallbackOf(url, settings.redirectUri, hasOrigin)) throw wrongAddress()
  checkRepeats(url.searchParams, settings.redirectUri)
  checkState(url.searchParams.get('state'), held.state)
  // A forged callback does not get here, so it cannot spoil the login of the one who started it.
  markUsed(transaction)
  const secrets = encodedForms([held.state, held.codeVerifier, url.searchParams.get('code') ?? ''])
  const parameters = validate(settings, url.searchParams, held.state, secrets)
  const code = parameters.get('code')
  if (code === null || code === '') throw missing('`code`')
  return { parameters, code, state: held.state, codeVerifier: held.codeVerifier }
}

/** Throws when a parameter comes twice (RFC 6749, section 3.1): which of the two counts would be anybody's guess. */
function checkRepeats(parameters: URLSearchParams, redirectUri: string): void {
  const own = new URL(redirectUri).searchParams
  const names = [...parameters.keys()].filter((name) => !own.has(name))
  if (new Set(names).size === names.length) return
  throw new LoginError('The callback has a parameter twice.', {
    reason: 'duplicate_parameter',
    hint: 'Start the login again; the address was put together by hand, or by somebody else.',
  })
}

/** The callback's address, and whether its origin can be relied upon. */
function callbackUrl(callback: LoginCallback, redirectUri: string): { url: URL; hasOrigin: boolean } {
  if (typeof callback === 'string') {
    // An origin of its own overrides the base, and is then compared.
    if (URL.canParse(callback, redirectUri)) return { url: new URL(callback, redirectUri), hasOrigin: true }
  } else if (typeof callback === 'object' && callback !== null) {
    if ('href' in callback) return { url: new URL(callback.href), hasOrigin: true }
    if ('url' in callback && URL.canParse(callback.url)) return { url: new URL(callback.url), hasOrigin: false }
  }
  throw new InvalidArgumentError(
    'callback',
    '`callback` is not an address.',
    'Pass the address that the browser came back with: a string, a URL or a Request.',
  )
}

/** A code is sent only to the service, and for the app, that the login was started with (RFC 9700, section 4.4). */
function checkBinding(settings: AppSettings, transaction: LoginTransaction): void {
  if (transaction.redirectUri !== settings.redirectUri) throw wrongAddress()
  if (transaction.clientId === settings.client.client_id && transaction.baseUrl === settings.baseUrl) return
  throw new LoginError('The login was started by another app or for another service.', {
    reason: 'transaction_invalid',
    hint: 'Finish it with the same `baseUrl` and `clientId` that started it.',
  })
}

function checkState(received: string | null, expected: string): void {
  if (received === null || received === '') throw missing('`state`')
  if (isSame(received, expected)) return
  throw new LoginError("The callback's `state` is not the one of this login.", {
    reason: 'state_mismatch',
    hint: 'Start the login again; if it happens often, check that each browser keeps its own transaction.',
  })
}

/** Takes as long for a wrong text as for a right one of the same length. */
function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < b.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}

function validate(
  settings: AppSettings,
  parameters: URLSearchParams,
  state: string,
  secrets: readonly string[],
): URLSearchParams {
  const issuer = parameters.get('iss')
  // Checked here as well: the library takes an empty `iss` for an absent one.
  if (issuer !== null && issuer !== settings.server.issuer) {
    throw new LoginError("The callback's `iss` is not the issuer of this service.", {
      reason: 'issuer_mismatch',
      hint: 'If the issuer of the service differs from its base URL, pass it as `issuer`.',
    })
  }
  try {
    return validateAuthResponse(settings.server, settings.client, parameters, state)
  } catch (error) {
    // The library's errors hold the parameters, and with them the code: none is kept as a cause.
    if (error instanceof AuthorizationResponseError) throw refusal(parameters, secrets)
    throw new LoginError('The callback has parameters of another kind of login.', {
      reason: 'authorization_failed',
      hint: 'Only the authorization code flow is supported: start the login with `startLogin`.',
    })
  }
}

function refusal(parameters: URLSearchParams, secrets: readonly string[]): LoginError {
  const code = untrustedText(parameters.get('error'), secrets)
  const description = untrustedText(parameters.get('error_description'), secrets)
  if (code === 'access_denied') {
    return new LoginError(`Access was denied${quote(undefined, description)}.`, {
      reason: 'access_denied',
      code,
      description,
      hint: 'Start the login again when they agree.',
    })
  }
  return new LoginError(`The service refused the login${quote(code, description)}.`, {
    reason: 'authorization_failed',
    code,
    description,
    hint: 'Check client id, redirect URI and scopes against what is registered for the app.',
  })
}

function missing(what: string): LoginError {
  return new LoginError(`The callback has no ${what}.`, {
    reason: 'missing_parameter',
    hint: 'Pass the whole address that the browser came back with, query included.',
  })
}

function wrongAddress(): LoginError {
  return new LoginError('The callback did not come to the redirect URI of this login.', {
    reason: 'redirect_uri_mismatch',
    hint: 'Use one `redirectUri` to start and to finish; behind a proxy that rewrites paths pass the public address.',
  })
}
