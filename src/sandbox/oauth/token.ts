import { createHash } from 'node:crypto'
import { type Exchange, mediaType } from '../http/exchange.ts'
import { badRequest, Refusal } from '../http/refusal.ts'
import type { Route } from '../http/route.ts'
import type { Service } from '../service.ts'
import { authenticateClient } from './client-authentication.ts'
import type { AuthorizationCode } from './grants.ts'
import { parameter, repeatedParameter } from './parameters.ts'

/** `POST /api/oauth/token` (specification, section 4; RFC 6749, 4.1.3; RFC 7636, 4.5). */
export function tokenRoute(service: Service): Route {
  const answer = (exchange: Exchange): Response => {
    try {
      const body = exchangeCode(service, exchange)
      return Response.json(body, { headers: { 'cache-control': 'no-store', pragma: 'no-cache' } })
    } catch (error) {
      if (error instanceof Refusal) error.headers['cache-control'] = 'no-store'
      throw error
    }
  }
  return { name: 'token', method: 'POST', path: '/api/oauth/token', answer }
}

interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  scope: string
}

function exchangeCode(service: Service, { headers, bodyText }: Exchange): TokenResponse {
  if (mediaType(headers.get('content-type')) !== 'application/x-www-form-urlencoded') {
    throw badRequest('The body must be sent as `content-type: application/x-www-form-urlencoded`.')
  }
  const form = new URLSearchParams(bodyText)
  const repeated = repeatedParameter(form)
  if (repeated !== undefined) throw badRequest(`\`${repeated}\` was sent more than once.`)
  authenticateClient(service.settings.app, headers.get('authorization'), form)

  if (required(form, 'grant_type') !== 'authorization_code') {
    throw new Refusal(400, 'unsupported_grant_type', 'The grant type must be `authorization_code`.')
  }
  const value = required(form, 'code')
  const redirectUri = required(form, 'redirect_uri')
  const verifier = required(form, 'code_verifier')
  const code = service.grants.code(value)
  if (code === undefined) throw invalidGrant('The code is unknown.')
  refuseSecondUse(service, code)

  // A code is good for one attempt: who holds a stolen code must not be able to try verifiers one after another.
  code.used = true
  if (service.settings.now() >= code.expiresAt) throw invalidGrant('The code has expired.')
  if (redirectUri !== code.redirectUri) throw invalidGrant('The redirect URI is not the one the code was sent to.')
  if (!provesChallenge(verifier, code.codeChallenge)) throw invalidGrant('The code verifier is wrong.')

  code.token = service.grants.addToken(code.grant)
  return { access_token: code.token, token_type: 'Bearer', scope: code.grant.scopes.join(' ') }
}

// Two parties hold a code that comes twice, so what it was exchanged for is withdrawn (RFC 6749, 4.1.2).
function refuseSecondUse(service: Service, code: AuthorizationCode): void {
  if (!code.used) return
  if (code.token !== undefined) service.grants.revoke(code.token)
  throw invalidGrant('The code was used before.')
}

// RFC 7636: the verifier's syntax is in 4.1, the comparison in 4.6.
function provesChallenge(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  return createHash('sha256').update(verifier).digest('base64url') === challenge
}

function required(form: URLSearchParams, name: string): string {
  const value = parameter(form, name)
  if (value === undefined) throw badRequest(`\`${name}\` is required.`)
  return value
}

function invalidGrant(description: string): Refusal {
  return new Refusal(400, 'invalid_grant', description)
}
