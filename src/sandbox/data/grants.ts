import { randomBytes } from 'node:crypto'
import type { Scope } from './scope-catalog.ts'

/** What an authorization grants: access to one organization, as the app or as one of the organization's members. */
export interface Grant {
  actor: 'app' | 'self'
  scopes: readonly Scope[]
  organizationId: string
  /** Membership id of the person that the token acts as; `undefined` for an app. */
  memberId: string | undefined
}

export interface AuthorizationCode {
  grant: Grant
  redirectUri: string
  codeChallenge: string
  /** In milliseconds since the epoch, on the sandbox's clock. */
  expiresAt: number
  /** Whether an exchange of the code was attempted. A code allows one attempt. */
  used: boolean
  token: string | undefined
}

/** A valid access token, as an admin sees it: without the token itself. */
export interface IssuedToken {
  id: string
  grant: Grant
  /** Whether an app received the token in a login. Otherwise the sandbox issued it directly. */
  fromLogin: boolean
  /** In milliseconds since the epoch, on the sandbox's clock. */
  issuedAt: number
}

/** The authorization codes and access tokens that were issued. */
export class Grants {
  readonly #codes = new Map<string, AuthorizationCode>()
  readonly #tokens = new Map<string, IssuedToken>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  addCode(code: Omit<AuthorizationCode, 'used' | 'token'>): string {
    const value = `code_${randomBytes(20).toString('hex')}`
    this.#codes.set(value, { ...code, used: false, token: undefined })
    const [oldest] = this.#codes.keys()
    if (this.#codes.size > maxCodes && oldest !== undefined) this.#codes.delete(oldest)
    return value
  }

  code(value: string): AuthorizationCode | undefined {
    return this.#codes.get(value)
  }

  addToken(
    grant: Grant,
    { fromLogin, value = newToken() }: { fromLogin: boolean; value?: string | undefined },
  ): string {
    const id = `token_${randomBytes(8).toString('hex')}`
    this.#tokens.set(value, { id, grant, fromLogin, issuedAt: this.#now() })
    return value
  }

  token(value: string): Grant | undefined {
    return this.#tokens.get(value)?.grant
  }

  /** Returns the valid tokens, most recent first. */
  issuedTokens(): IssuedToken[] {
    return [...this.#tokens.values()].reverse()
  }

  /** Revokes the token with this id, if it is valid. */
  revokeById(id: string): void {
    for (const [value, token] of this.#tokens) if (token.id === id) this.#tokens.delete(value)
  }

  /** Revokes a token and returns whether it was valid. */
  revoke(token: string): boolean {
    return this.#tokens.delete(token)
  }

  /** Revokes every token and returns the number of tokens that were valid. */
  revokeAll(): number {
    const count = this.#tokens.size
    this.#tokens.clear()
    return count
  }
}

// Any page can request codes with `auto=allow`, so they must not fill the memory.
const maxCodes = 10_000

/** Returns a new access token with the service's prefix (docs/service.md#tokens). */
export function newToken(): string {
  return `swot_${randomBytes(24).toString('hex')}`
}
