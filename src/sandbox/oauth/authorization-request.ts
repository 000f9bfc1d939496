import { isScope, type Scope, splitScope } from '../data/scope-catalog.ts'
import { badRequest } from '../http-error.ts'
import type { SandboxSettings } from '../sandbox-settings.ts'
import { parameter, repeatedParameter } from './parameters.ts'
import { AuthorizationError } from './redirect.ts'

/** A valid authorization request (docs/service.md#login). */
export interface AuthorizationRequest {
  clientId: string
  redirectUri: string
  scopes: readonly Scope[]
  state: string
  actor: 'app' | 'self'
  codeChallenge: string
}

/**
 * Throws an `HttpError`, which must not be redirected, for an unknown client or redirect URI. Throws an
 * `AuthorizationError`, which is sent to the redirect URI, for any other mistake (RFC 6749, 4.1.2.1).
 */
export function readAuthorizationRequest(
  app: SandboxSettings['app'],
  parameters: URLSearchParams,
): AuthorizationRequest {
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
  if (repeated !== undefined) throw fail('invalid_request', `${repeated} was sent more than once.`)
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
  return { clientId: app.clientId, redirectUri, scopes, state: state ?? '', actor, codeChallenge }
}

function trustedRedirectUri(app: SandboxSettings['app'], parameters: URLSearchParams): string {
  const clientIds = parameters.getAll('client_id')
  if (clientIds.length !== 1 || clientIds[0] !== app.clientId) {
    throw badRequest('client_id must be the id of a registered app.')
  }
  const [redirectUri, another] = parameters.getAll('redirect_uri')
  if (redirectUri === undefined || another !== undefined || !app.redirectUris.includes(redirectUri)) {
    throw badRequest('redirect_uri must be exactly one of the URIs that are registered for this app.')
  }
  return redirectUri
}

// An error_description can contain only printable ASCII, without quotes and backslashes (RFC 6749, 4.1.2.1).
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, '?')
}
