import { isScope, type Scope, splitScope } from '../data/scope-catalog.ts'
import { badRequest, HttpError } from '../http.ts'
import type { SandboxSettings } from '../sandbox-options.ts'

/** The parameters of a query, a form or a JSON object. A parameter that was sent more than once is an array. */
export type Parameters = Readonly<Record<string, string | readonly string[]>>

/** A valid authorization request (docs/service.md#login). */
export interface AuthorizationRequest {
  redirectUri: string
  scopes: readonly Scope[]
  state: string
  actor: 'app' | 'self'
  codeChallenge: string
}

/** An error that is reported to the app through a redirect (RFC 6749, 4.1.2.1). A program gets it as a 400. */
export class AuthorizationError extends HttpError {
  readonly location: string

  constructor(target: RedirectTarget, code: string, description: string) {
    super(400, code, description)
    this.location = redirectLocation(target, { error: code, error_description: description })
  }
}

interface RedirectTarget {
  redirectUri: string
  state: string | undefined
}

/** Returns the redirect URI with these parameters and the `state` added to its query (RFC 6749, 3.1.2). */
export function redirectLocation({ redirectUri, state }: RedirectTarget, parameters: Record<string, string>): string {
  const query = new URLSearchParams({ ...parameters, ...(state !== undefined && { state }) })
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`
}

/** Returns the value of a parameter. An empty value counts as not sent (RFC 6749, 3.1). */
export function parameter(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name]
  return (typeof value === 'object' ? value[0] : value) || undefined
}

/** Returns the first parameter that was sent more than once, which RFC 6749, 3.1 and 3.2, forbid. */
export function repeatedParameter(parameters: Parameters): string | undefined {
  return Object.keys(parameters).find((name) => typeof parameters[name] === 'object')
}

/**
 * Throws an `HttpError`, which must not be redirected, for an unknown client or redirect URI. Throws an
 * `AuthorizationError`, which is sent to the redirect URI, for any other mistake (RFC 6749, 4.1.2.1).
 */
export function readAuthorizationRequest(app: SandboxSettings['app'], parameters: Parameters): AuthorizationRequest {
  const redirectUri = trustedRedirectUri(app, parameters)
  const state = parameter(parameters, 'state')
  const fail = (code: string, description: string): AuthorizationError =>
    new AuthorizationError({ redirectUri, state }, code, description)
  const required = (name: string): string => {
    const value = parameter(parameters, name)
    if (value === undefined) throw fail('invalid_request', `${name} is required.`)
    return value
  }

  const repeated = repeatedParameter(parameters)
  if (repeated !== undefined) throw fail('invalid_request', `${printable(repeated)} was sent more than once.`)
  if ((parameter(parameters, 'response_type') ?? 'code') !== 'code') {
    throw fail('unsupported_response_type', 'response_type must be code.')
  }
  // Printable ASCII (RFC 6749, appendix A.5). The form of a browser could change other characters.
  if (!/^[\x20-\x7e]+$/.test(required('state'))) throw fail('invalid_request', 'state must be printable ASCII.')
  const codeChallenge = required('code_challenge')
  // A SHA-256 digest in base64url without padding has 43 characters (RFC 7636, 4.2).
  if (!/^[A-Za-z0-9_-]{43}$/.test(codeChallenge))
    throw fail('invalid_request', 'code_challenge must be the base64url SHA-256 digest of the code verifier.')
  if (required('code_challenge_method') !== 'S256') throw fail('invalid_request', 'code_challenge_method must be S256.')
  // The documents specify no default actor. The sandbox uses the one with fewer permissions.
  const actor = parameter(parameters, 'actor') ?? 'app'
  if (actor !== 'app' && actor !== 'self') throw fail('invalid_request', 'actor must be app or self.')
  const scopes = splitScope(required('scope')).map((name) => {
    if (!isScope(name)) throw fail('invalid_scope', `The scope ${printable(name)} does not exist.`)
    if (!app.scopes.includes(name)) throw fail('invalid_scope', `The app does not declare the scope ${name}.`)
    return name
  })
  if (scopes.length === 0) throw fail('invalid_scope', 'scope must name at least one scope.')
  return { redirectUri, scopes, state: state ?? '', actor, codeChallenge }
}

function trustedRedirectUri(app: SandboxSettings['app'], { client_id, redirect_uri }: Parameters): string {
  if (client_id !== app.clientId) throw badRequest('client_id must be the id of a registered app.')
  if (typeof redirect_uri !== 'string' || !app.redirectUris.includes(redirect_uri)) {
    throw badRequest('redirect_uri must be exactly one of the URIs that are registered for this app.')
  }
  return redirect_uri
}

// An error_description can contain only printable ASCII, without quotes and backslashes (RFC 6749, 4.1.2.1).
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, '?')
}
