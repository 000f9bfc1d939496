import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import { checkLoginRequest, type LoginRequest } from './login-request.ts'
import type { AppSettings } from './settings.ts'
import { LoginTransaction } from './transaction.ts'

/** A login that has begun. */
export interface StartedLogin {
  /** Where to send the admin's browser. */
  readonly url: string
  /** What finishes it. Keep it until the callback comes, bound to the browser that is sent away. */
  readonly transaction: LoginTransaction
}

/**
 * Makes state, code verifier and code challenge, and the address of the consent screen. The specification's parameters
 * (section 4) and `response_type=code`, which RFC 6749, section 4.1.1 requires.
 */
export async function startLogin(settings: AppSettings, request: LoginRequest): Promise<StartedLogin> {
  const { scope, actor, parameters } = checkLoginRequest(request)
  const state = generateRandomState()
  const codeVerifier = generateRandomCodeVerifier()
  const query = new URLSearchParams([
    ['response_type', 'code'],
    ['client_id', settings.client.client_id],
    ['redirect_uri', settings.redirectUri],
    ['scope', scope],
    ['state', state],
    ['code_challenge', await calculatePKCECodeChallenge(codeVerifier)],
    ['code_challenge_method', 'S256'],
    ...(actor === undefined ? [] : [['actor', actor]]),
    ...parameters.map(([name, value]) => [name, value]),
  ])
  const createdAt = Date.now()
  const transaction = new LoginTransaction({
    state,
    codeVerifier,
    baseUrl: settings.baseUrl,
    clientId: settings.client.client_id,
    redirectUri: settings.redirectUri,
    scope,
    actor,
    createdAt,
    expiresAt: createdAt + settings.transactionLifetime,
  })
  return { url: `${settings.server.authorization_endpoint}?${query}`, transaction }
}
