import { createHash } from 'node:crypto'
import { auth } from 'hono/utils/basic-auth'
import type { Operation } from '../app-env.ts'
import { badRequest, formType, HttpError, type RequestBody } from '../http.ts'
import type { SandboxData } from '../sandbox-data.ts'
import type { SandboxSettings } from '../sandbox-options.ts'
import { type Parameters, parameter, repeatedParameter } from './authorization-request.ts'

/** The exchange of a code for a token (docs/service.md#login; RFC 6749, 4.1.3; RFC 7636, 4.5). */
export const token: Operation = {
  route: 'POST /api/oauth/token',
  handler: (sandbox) => (c) => {
    try {
      const response = exchangeCode(sandbox, c.req.raw, c.get('body'))
      return Response.json(response, { headers: { 'cache-control': 'no-store', pragma: 'no-cache' } })
    } catch (error) {
      if (error instanceof HttpError) error.headers['cache-control'] = 'no-store'
      throw error
    }
  },
}

function exchangeCode(sandbox: SandboxData, request: Request, body: RequestBody) {
  if (body.type !== formType) {
    throw badRequest('The body must be sent as `content-type: application/x-www-form-urlencoded`.')
  }
  const form = (body.value ?? {}) as Parameters
  const repeated = repeatedParameter(form)
  if (repeated !== undefined) throw badRequest(`\`${repeated}\` was sent more than once.`)
  authenticateClient(sandbox.settings.app, request, form)

  if (required(form, 'grant_type') !== 'authorization_code') {
    throw new HttpError(400, 'unsupported_grant_type', '`grant_type` must be `authorization_code`.')
  }
  const value = required(form, 'code')
  const redirectUri = required(form, 'redirect_uri')
  const verifier = required(form, 'code_verifier')
  const code = sandbox.grants.code(value)
  if (code === undefined) throw invalidGrant('The code was not issued by this service.')
  if (code.used) {
    // A code that is used twice might have been stolen, so its token is revoked (RFC 6749, 4.1.2).
    if (code.token !== undefined) sandbox.grants.revoke(code.token)
    throw invalidGrant('The code was already used.')
  }
  // A code allows one attempt, so that a stolen code cannot be used to guess the verifier.
  code.used = true
  if (sandbox.settings.now() >= code.expiresAt) throw invalidGrant('The code has expired.')
  if (redirectUri !== code.redirectUri)
    throw invalidGrant('`redirect_uri` must be the one from the authorization request.')
  if (!matchesChallenge(verifier, code.codeChallenge))
    throw invalidGrant('`code_verifier` does not match the code challenge.')

  code.token = sandbox.grants.addToken(code.grant, { fromLogin: true })
  return { access_token: code.token, token_type: 'Bearer', scope: code.grant.scopes.join(' ') }
}

// RFC 7636 defines the verifier's syntax (4.1) and the comparison (4.6).
function matchesChallenge(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  return createHash('sha256').update(verifier).digest('base64url') === challenge
}

function required(form: Parameters, name: string): string {
  const value = parameter(form, name)
  if (value === undefined) throw badRequest(`\`${name}\` is required.`)
  return value
}

function invalidGrant(description: string): HttpError {
  return new HttpError(400, 'invalid_grant', description)
}

/** Throws an `HttpError` unless the app authenticated in exactly one way, HTTP Basic or the form (RFC 6749, 2.3.1). */
function authenticateClient(app: SandboxSettings['app'], request: Request, form: Parameters): void {
  const id = parameter(form, 'client_id')
  const secret = parameter(form, 'client_secret')
  if (!request.headers.has('authorization')) {
    if (id !== app.clientId || secret !== app.clientSecret) throw invalidClient({})
    return
  }
  if (secret !== undefined) throw badRequest('Authenticate with HTTP Basic or in the form, not both.')
  const basic = readBasic(request)
  if (basic?.id !== app.clientId || basic.secret !== app.clientSecret || (id ?? basic.id) !== basic.id) {
    throw invalidClient({ 'www-authenticate': 'Basic realm="oauth"' })
  }
}

function invalidClient(headers: Record<string, string>): HttpError {
  return new HttpError(401, 'invalid_client', 'The client id or the client secret is invalid.', headers)
}

function readBasic(request: Request): { id: string; secret: string } | undefined {
  const basic = auth(request)
  try {
    return basic && { id: formDecoded(basic.username), secret: formDecoded(basic.password) }
  } catch {
    return undefined
  }
}

// Both are form-encoded before they are joined (RFC 6749, 2.3.1), so a plus sign is a space.
function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
