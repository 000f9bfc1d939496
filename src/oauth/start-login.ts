import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import type { Actor } from '../actor.ts'
import { checkOptions } from '../check-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { parseScopes, type Scope } from '../scopes.ts'
import type { AppSettings } from './app-options.ts'
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

/** What a login asks for. */
export interface LoginRequest {
  /**
   * The scopes to request, as a list or separated by spaces. `scopesFor` returns those that operations need;
   * `scopesToRequest` of an `InsufficientScopeError` those that a call lacked. A member's role can take `:write` scopes
   * away again (specification, section 5).
   */
  readonly scope: readonly (Scope | (string & {}))[] | string
  /**
   * Whom the token is to act for. Not sent when absent: the service then decides (the parameter is in the reference,
   * section 3.1, which prints no default).
   */
  readonly actor?: Actor | undefined
  /** Further parameters for the authorize address. May not name those that the login sets itself. */
  readonly parameters?: Readonly<Record<string, string>> | undefined
}

export const loginRequestNames = {
  scope: true,
  actor: true,
  parameters: true,
} as const satisfies Record<keyof LoginRequest, true>

/** A login request, checked. */
export interface CheckedLoginRequest {
  readonly scope: string
  readonly actor: Actor | undefined
  readonly parameters: readonly (readonly [string, string])[]
}

/**
 * What the login sets itself, and what would change how the service answers: to another place, in another form, or from
 * another set of parameters (RFC 9101).
 */
const ownParameters: readonly string[] = [
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

/** Checks a login request before anything is made. Throws `InvalidArgumentError`. */
export function checkLoginRequest(request: LoginRequest): CheckedLoginRequest {
  checkOptions('request', request, loginRequestNames)
  return {
    scope: checkScope(request.scope),
    actor: checkActor(request.actor),
    parameters: checkParameters(request.parameters),
  }
}

/** Scopes by the grammar of RFC 6749, section 3.3, without the comma, which the service takes for a separator. */
export function checkScope(scope: unknown): string {
  const list: unknown[] = typeof scope === 'string' ? parseScopes(scope) : Array.isArray(scope) ? scope : []
  if (list.length === 0 || !list.every((name) => typeof name === 'string' && /^[!#-+\--[\]-~]+$/.test(name))) {
    throw new InvalidArgumentError(
      'scope',
      '`scope` is not a list of scope names.',
      "Pass one or more, for example ['conversations:read', 'messages:write'], or separated by spaces.",
    )
  }
  return [...new Set(list)].join(' ')
}

function checkActor(actor: unknown): Actor | undefined {
  if (actor === undefined || actor === 'app' || actor === 'self') return actor
  throw new InvalidArgumentError('actor', '`actor` is neither "app" nor "self".', 'Pass one of the two, or neither.')
}

function checkParameters(parameters: unknown = {}): [string, string][] {
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters)) {
    throw new InvalidArgumentError(
      'parameters',
      '`parameters` must be an object.',
      "Pass names and values, for example { prompt: 'consent' }.",
    )
  }
  return Object.entries(parameters).map(([name, value]) => {
    if (ownParameters.includes(name)) {
      throw new InvalidArgumentError(
        'parameters',
        `\`parameters\` may not set "${name}": the login sets it itself, or relies on its absence.`,
        'Leave it out; scope and actor are options of their own.',
      )
    }
    if (typeof value !== 'string') {
      throw new InvalidArgumentError('parameters', `The parameter "${name}" is not a string.`, 'Pass it as text.')
    }
    return [name, value]
  })
}
