import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import { InvalidArgumentError } from '../errors/index.ts'
import { type Actor, checkActor } from '../shared/actor.ts'
import { type Check, checkPlain, readOptions } from '../shared/check-options.ts'
import { parseScopes, type Scope } from '../shared/scopes.ts'
import type { AppSettings } from './app-options.ts'
import { LoginTransaction } from './transaction.ts'

/** The scopes, actor and parameters of a login. */
export interface LoginRequest {
  /**
   * The scopes to request, as a list, or separated by spaces or commas. `scopesFor` returns the scopes that operations need.
   * `scopesToRequest` of an `InsufficientScopeError` adds the scopes that a call was missing. A member's role can
   * remove `:write` scopes ([specification](docs/service.md#actors)).
   */
  readonly scope: readonly (Scope | (string & {}))[] | string
  /**
   * The actor that the token acts as. If absent, the service chooses the actor. Its default is undocumented
   * ([reference](docs/service.md#login)).
   */
  readonly actor?: Actor | undefined
  /** Additional query parameters for the authorize URL. Must not contain parameters that the login sets. */
  readonly parameters?: Readonly<Record<string, string>> | undefined
}

export const loginRequestChecks = {
  scope: (_, scope) => checkScope(scope),
  actor: checkActor,
  parameters: (_, parameters) => checkParameters(parameters),
} satisfies Record<keyof LoginRequest, Check<unknown>>

/** A login that has been started. */
export interface StartedLogin {
  /** The URL of the consent screen. Send the admin's browser there. */
  readonly url: string
  /** Pass this to `finishLogin`. Until the callback, store it in the session of the browser that you redirect. */
  readonly transaction: LoginTransaction
}

/**
 * Creates state, code verifier and code challenge, and the URL of the consent screen. It has the documented
 * parameters and `response_type=code`, which RFC 6749, section 4.1.1 requires.
 */
export async function startLogin(settings: AppSettings, request: LoginRequest): Promise<StartedLogin> {
  const {
    scope = checkScope(undefined),
    actor,
    parameters = {},
  } = readOptions(request, loginRequestChecks, 'a login', 'request')
  const state = generateRandomState()
  const codeVerifier = generateRandomCodeVerifier()
  const query = new URLSearchParams([
    ['response_type', 'code'],
    ['client_id', settings.clientId],
    ['redirect_uri', settings.redirectUri],
    ['scope', scope],
    ['state', state],
    ['code_challenge', await calculatePKCECodeChallenge(codeVerifier)],
    ['code_challenge_method', 'S256'],
    ...(actor === undefined ? [] : [['actor', actor]]),
    ...Object.entries(parameters),
  ])
  const createdAt = Date.now()
  const transaction = new LoginTransaction({
    state,
    codeVerifier,
    baseUrl: settings.baseUrl,
    clientId: settings.clientId,
    redirectUri: settings.redirectUri,
    scope,
    actor,
    createdAt,
    expiresAt: createdAt + settings.transactionLifetime,
  })
  return { url: `${settings.baseUrl}/api/oauth/authorize?${query}`, transaction }
}

/** Checks scopes against RFC 6749, section 3.3, except for the comma, which separates scopes like a space. */
function checkScope(scope: unknown): string {
  const list: unknown = typeof scope === 'string' ? parseScopes(scope) : scope
  const isScope = (name: unknown) => typeof name === 'string' && /^[!#-+\--[\]-~]+$/.test(name)
  if (!Array.isArray(list) || list.length === 0 || !list.every(isScope)) {
    throw new InvalidArgumentError(
      'scope',
      '`scope` must be a list of scope names.',
      "Pass at least one, for example ['conversations:read', 'messages:write'], or a string separated by spaces.",
    )
  }
  return [...new Set(list)].join(' ')
}

/**
 * The parameters that the login sets, and those that would change the form or the target of the response (RFC 9101).
 */
const reservedParameters: readonly string[] = [
  'response_type',
  'response_mode',
  'client_id',
  'client_secret',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'actor',
  'request',
  'request_uri',
]

function checkParameters(parameters: unknown): Readonly<Record<string, string>> {
  const copy = { ...checkPlain('parameters', parameters) }
  for (const [name, value] of Object.entries(copy)) {
    if (reservedParameters.includes(name)) {
      throw new InvalidArgumentError(
        'parameters',
        `\`parameters\` must not contain "${name}", which is reserved for the login.`,
        'Leave it out. Pass scope and actor as `scope` and `actor`.',
      )
    }
    if (typeof value !== 'string') {
      throw new InvalidArgumentError('parameters', `The parameter "${name}" must be a string.`, 'Pass it as a string.')
    }
  }
  return copy as Record<string, string>
}
