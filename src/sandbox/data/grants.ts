import { randomBytes } from 'node:crypto'
import type { Scope } from './scope-catalog.ts'

/** What a person allowed: it is bound to an organization and an actor, and for `self` to one of its members. */
export interface Grant {
  actor: 'app' | 'self'
  scopes: readonly Scope[]
  organizationId: string
  /** The membership of the person that the token acts as; only for `self`. */
  memberId: string | undefined
}

export interface AuthorizationCode {
  grant: Grant
  redirectUri: string
  codeChallenge: string
  expiresAt: number
  /** Set once the code was presented: a code is good for one attempt. */
  used: boolean
  /** The token that the code was exchanged for, if it was. */
  token: string | undefined
}

/** The codes and tokens that are out. */
export class Grants {
  readonly #codes = new Map<string, AuthorizationCode>()
  readonly #tokens = new Map<string, Grant>()

  get tokenCount(): number {
    return this.#tokens.size
  }

  addCode(code: Omit<AuthorizationCode, 'used' | 'token'>): string {
    const value = `code_${randomBytes(20).toString('hex')}`
    this.#codes.set(value, { ...code, used: false, token: undefined })
    return value
  }

  code(value: string): AuthorizationCode | undefined {
    return this.#codes.get(value)
  }

  addToken(grant: Grant): string {
    const value = `swot_${randomBytes(24).toString('hex')}`
    this.#tokens.set(value, grant)
    return value
  }

  token(value: string): Grant | undefined {
    return this.#tokens.get(value)
  }

  revoke(token: string): boolean {
    return this.#tokens.delete(token)
  }
}
