import { InvalidArgumentError, LoginError } from '../errors/index.ts'
import { rejectedRequests } from '../errors/login-error.ts'
import { redact } from '../errors/redact.ts'
import { knownScopes } from '../shared/scopes.ts'
import { findSimilar } from '../shared/similar.ts'
import type { AppSettings } from './app-options.ts'
import { type LoginTransaction, markUsed, openSecrets } from './transaction.ts'

/**
 * The URL that the browser returned to: a string (absolute, or a path with its query, as in Node's `request.url`), a
 * `URL`, or the `Request` itself.
 *
 * An absolute string and a `URL` must have the origin of the redirect URI. For a `Request` and a bare path only the
 * path is compared, because a server behind a proxy that terminates TLS cannot see the scheme and host that the browser
 * uses.
 */
export type LoginCallback = string | URL | Request

/** A code with the verifier of its login, ready to be exchanged. */
export interface CheckedCallback {
  readonly code: string
  readonly codeVerifier: string
  /** Texts that errors must not quote. */
  readonly secrets: readonly string[]
}

/**
 * Checks a callback against its transaction, in this order: the transaction, the URL, duplicate parameters, state,
 * issuer, an error from the service, code. The transaction is marked as used once the state matches.
 */
export function checkCallback(
  settings: AppSettings,
  callback: LoginCallback,
  transaction: LoginTransaction,
): CheckedCallback {
  const { state, codeVerifier } = openSecrets(transaction)
  checkBinding(settings, transaction)
  const parameters = parametersOf(callback, settings.redirectUri)
  checkState(parameters.get('state'), state)
  // The transaction is marked only now, so that a forged callback cannot end the login of the user who started it.
  markUsed(transaction)
  checkIssuer(parameters.get('iss'), settings.issuer)
  const code = parameters.get('code') ?? ''
  const secrets = [...settings.secrets, state, codeVerifier, code]
  if (parameters.has('error')) throw authorizationError(parameters, transaction.scopes, secrets)
  if (code === '') throw missingParameter('code')
  return { code, codeVerifier, secrets }
}

/**
 * Checks that the login was started with this service, because the code must only be sent there (mix-up attacks: RFC
 * 9700, section 4.4).
 */
function checkBinding({ redirectUri, clientId, baseUrl }: AppSettings, transaction: LoginTransaction): void {
  if (transaction.redirectUri !== redirectUri) throw redirectUriMismatch()
  if (transaction.clientId === clientId && transaction.baseUrl === baseUrl) return
  throw new LoginError('The login was started by another app or for another service.', {
    reason: 'transaction_invalid',
    hint: 'Finish it with the same `baseUrl` and `clientId` that started it.',
  })
}

/** Returns the parameters of a callback that is at the redirect URI and repeats none (RFC 6749, section 3.1). */
function parametersOf(callback: LoginCallback, redirectUri: string): URLSearchParams {
  const { url, hasOrigin } = parseCallback(callback, redirectUri)
  const expected = new URL(redirectUri)
  const own = new Set(expected.searchParams.keys())
  const isAtRedirectUri =
    url.pathname === expected.pathname &&
    (!hasOrigin || (url.protocol === expected.protocol && url.host === expected.host)) &&
    // A repeated parameter is ambiguous, because the app could read another value than the one that was compared.
    [...own].every((name) => valuesOf(url, name) === valuesOf(expected, name))
  if (!isAtRedirectUri) throw redirectUriMismatch()
  const added = [...url.searchParams.keys()].filter((name) => !own.has(name))
  if (new Set(added).size === added.length) return url.searchParams
  throw new LoginError('The callback contains the same parameter twice.', {
    reason: 'duplicate_parameter',
    hint: 'Start the login again. The service does not send such a callback, so check who built the URL.',
  })
}

function valuesOf(url: URL, name: string): string {
  return JSON.stringify(url.searchParams.getAll(name))
}

/** Returns the URL of the callback, and whether its origin is reliable. */
function parseCallback(callback: LoginCallback, redirectUri: string): { url: URL; hasOrigin: boolean } {
  // The error of the URL parser quotes its input, and with it the code.
  if (typeof callback === 'string') {
    // An absolute string overrides the base, and its origin is then compared.
    if (URL.canParse(callback, redirectUri)) return { url: new URL(callback, redirectUri), hasOrigin: true }
  } else if (typeof callback === 'object' && callback !== null) {
    const { href, url } = callback as { readonly href?: unknown; readonly url?: unknown }
    const address = href ?? url
    if (typeof address === 'string' && URL.canParse(address)) {
      return { url: new URL(address), hasOrigin: href !== undefined }
    }
  }
  throw new InvalidArgumentError(
    'callback',
    '`callback` must be a URL.',
    'Pass the URL that the browser returned to: a string, a `URL`, a web `Request`, or the `url` of a Node request.',
  )
}

function checkState(received: string | null, expected: string): void {
  if (received === null || received === '') throw missingParameter('state')
  if (isEqual(received, expected)) return
  throw new LoginError("The callback's `state` does not match this login.", {
    reason: 'state_mismatch',
    hint: 'Start the login again. In one browser, a newer login replaces an older one.',
  })
}

/** Compares strings in constant time. */
function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < b.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}

function checkIssuer(received: string | null, expected: string): void {
  if (received === null || received === expected) return
  throw new LoginError("The callback's `iss` does not match the issuer of this service.", {
    reason: 'issuer_mismatch',
    hint: 'If the issuer of the service differs from `baseUrl`, pass it as `issuer`.',
  })
}

function authorizationError(
  parameters: URLSearchParams,
  scopes: readonly string[],
  secrets: readonly string[],
): LoginError {
  const code = untrustedText(parameters.get('error'), secrets)
  const description = untrustedText(parameters.get('error_description'), secrets)
  if (code === 'access_denied') {
    return new LoginError(`Access was denied${quote(description)}.`, {
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
    hint: rejectedRequests.has(code ?? '')
      ? `Check that client id, redirect URI and scopes match the registration of the app.${meantScope(scopes)}`
      : 'Start the login again.',
  })
}

/** Returns a sentence about a requested scope that is a known one with a typo. */
function meantScope(scopes: readonly string[]): string {
  const typo = scopes.find((scope) => !(knownScopes as readonly string[]).includes(scope))
  const meant = typo && findSimilar(typo, knownScopes)
  return meant ? ` Did you mean the scope \`${meant}\` instead of \`${typo}\`?` : ''
}

/** Returns untrusted text of a response or a callback as one line without secrets. Undefined if it is empty. */
export function untrustedText(text: string | null | undefined, secrets: readonly string[]): string | undefined {
  return redact(text ?? '', secrets).trim() || undefined
}

/** Returns ": code: description", without the parts that are unknown. */
export function quote(...parts: readonly (string | undefined)[]): string {
  return parts
    .map((part) => part?.replace(/\.$/, ''))
    .filter((part) => part !== undefined && part !== '')
    .map((part) => `: ${part}`)
    .join('')
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
