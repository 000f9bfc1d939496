import type { Actor } from '../actor.ts'
import { LoginError } from '../errors/index.ts'
import { parseScopes, type Scope } from '../scopes.ts'

/** The secrets of a transaction. */
interface TransactionSecrets {
  readonly state: string
  readonly codeVerifier: string
}

/** A transaction as plain data, including its secrets. */
export interface TransactionRecord extends TransactionSecrets {
  readonly baseUrl: string
  readonly clientId: string
  readonly redirectUri: string
  readonly scope: string
  readonly actor?: Actor | undefined
  readonly createdAt: number
  readonly expiresAt: number
}

/** Kept outside the object, so that printing, copying or serializing a transaction cannot reveal them. */
const secrets = /* @__PURE__ */ new WeakMap<LoginTransaction, TransactionSecrets>()

/**
 * The states that a callback has used, with their expiry. While the process runs, they also reject a second copy of a
 * transaction (a replayed cookie, a reloaded page).
 */
const usedStates = /* @__PURE__ */ new Map<string, number>()

/** The maximum number of used states kept. Above it the oldest is dropped; the service still accepts a code only once. */
const maxUsedStates = 10_000

/**
 * A login in progress, from `startLogin` to the callback. It holds the state and the code verifier, and reveals neither
 * when printed, inspected, cloned or serialized. It can be used for one callback, and expires.
 *
 * Keep it until the callback: with `serializeTransaction` in a browser, with `sealTransaction` on a server, or let
 * `createLoginHandlers` do it.
 */
export class LoginTransaction {
  /** The service's URL. */
  readonly baseUrl: string
  /** The client id of the app that started the login. */
  readonly clientId: string
  /** The URL that the callback must have. */
  readonly redirectUri: string
  /** The requested scopes, separated by spaces. */
  readonly scope: string
  /** The requested scopes, as a list. */
  readonly scopes: readonly Scope[]
  /** The requested actor, if any. */
  readonly actor: Actor | undefined
  /** Start time, in milliseconds since the Unix epoch. */
  readonly createdAt: number
  /** Expiry, in milliseconds since the Unix epoch. */
  readonly expiresAt: number

  /** Only `startLogin`, `parseTransaction` and `openTransaction` create transactions. */
  declare private readonly opaque: never

  /** @internal */
  constructor(record: TransactionRecord) {
    this.baseUrl = record.baseUrl
    this.clientId = record.clientId
    this.redirectUri = record.redirectUri
    this.scope = record.scope
    this.scopes = parseScopes(record.scope)
    this.actor = record.actor
    this.createdAt = record.createdAt
    this.expiresAt = record.expiresAt
    secrets.set(this, { state: record.state, codeVerifier: record.codeVerifier })
  }
}

/**
 * Returns the secrets of a transaction that can still be used.
 *
 * @throws LoginError `transaction_invalid`, `transaction_used`, `transaction_expired`
 */
export function openSecrets(transaction: LoginTransaction): TransactionSecrets {
  const held = secrets.get(transaction)
  if (held === undefined) {
    throw new LoginError('The value is not a login transaction.', {
      reason: 'transaction_invalid',
      hint: 'Store transactions with `serializeTransaction` or `sealTransaction`; a JSON copy lacks the secrets.',
    })
  }
  if (usedStates.has(held.state)) {
    throw new LoginError('The login transaction has already been used by an earlier callback.', {
      reason: 'transaction_used',
      hint: 'Start the login again.',
    })
  }
  if (Date.now() >= transaction.expiresAt) throw expiredTransaction()
  return held
}

/** Marks a transaction, and every copy of it in this process, as used. */
export function markUsed(transaction: LoginTransaction): void {
  const { state } = openSecrets(transaction)
  for (const [oldest, expiresAt] of usedStates) {
    if (Date.now() < expiresAt && usedStates.size < maxUsedStates) break
    usedStates.delete(oldest)
  }
  usedStates.set(state, transaction.expiresAt)
}

/** Returns the transaction as plain data, including its secrets. */
export function toTransactionRecord(transaction: LoginTransaction): TransactionRecord {
  const { state, codeVerifier } = openSecrets(transaction)
  const { scopes: _scopes, ...readable } = transaction
  return { ...readable, state, codeVerifier }
}

export function expiredTransaction(): LoginError {
  return new LoginError('The login has expired.', {
    reason: 'transaction_expired',
    hint: 'Start the login again. `transactionLifetime` sets how long a login may take.',
  })
}
