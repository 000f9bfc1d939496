import type { Actor } from '../actor.ts'
import { LoginError } from '../errors/index.ts'
import { parseScopes, type Scope } from '../scopes.ts'

/** What only the login itself may see. */
interface TransactionSecrets {
  readonly state: string
  readonly codeVerifier: string
}

/** A transaction as it is written down. */
export interface TransactionRecord {
  readonly state: string
  readonly codeVerifier: string
  readonly baseUrl: string
  readonly clientId: string
  readonly redirectUri: string
  readonly scope: string
  readonly actor?: Actor | undefined
  readonly createdAt: number
  readonly expiresAt: number
}

/** Beside the object, not in it: so no way of printing, copying or serialising a transaction reaches them. */
const secrets = /* @__PURE__ */ new WeakMap<LoginTransaction, TransactionSecrets>()

/**
 * The states that a callback has used, with the time they expire, so that a second copy of a transaction (a cookie that
 * came back, a page that was reloaded) is refused as well, as long as the process lives.
 */
const usedStates = /* @__PURE__ */ new Map<string, number>()

/** How many used states are remembered. Past it the oldest is forgotten; the service still accepts a code only once. */
const mostUsedStates = 10_000

/**
 * One login on its way, from `startLogin` to the callback. It owns the state and the code verifier, and shows neither:
 * not printed, inspected, cloned or as JSON. It serves one callback, and expires.
 *
 * Keep it until the callback comes: in a browser with `serializeTransaction`, on a server with `sealTransaction`, or let
 * `createLoginHandlers` do it.
 */
export class LoginTransaction {
  /** The service's address. */
  readonly baseUrl: string
  /** The app that started it. */
  readonly clientId: string
  /** Where the callback is to come. */
  readonly redirectUri: string
  /** The scopes asked for, separated by spaces. */
  readonly scope: string
  /** The scopes asked for, as a list. */
  readonly scopes: readonly Scope[]
  /** The actor asked for, if one was. */
  readonly actor: Actor | undefined
  /** When the login started, in ms since the epoch. */
  readonly createdAt: number
  /** When it ends, in ms since the epoch. */
  readonly expiresAt: number

  /** Only `startLogin`, `parseTransaction` and `openTransaction` make one. */
  declare private readonly opaque: never

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

/** The secrets of a transaction that can still be used. Throws `LoginError` when it cannot. */
export function openSecrets(transaction: LoginTransaction): TransactionSecrets {
  const held = secrets.get(transaction)
  if (held === undefined) {
    throw new LoginError('This is not a login transaction.', {
      reason: 'transaction_invalid',
      hint: 'Keep it with `serializeTransaction` or `sealTransaction`; a JSON copy lacks what the login needs.',
    })
  }
  if (usedStates.has(held.state)) {
    throw new LoginError('The login transaction has been used by an earlier callback.', {
      reason: 'transaction_used',
      hint: 'Start the login again.',
    })
  }
  if (Date.now() >= transaction.expiresAt) throw expiredTransaction()
  return held
}

/** Ends a transaction, and each copy of it in this process. */
export function markUsed(transaction: LoginTransaction): void {
  const { state } = openSecrets(transaction)
  for (const [oldest, expiresAt] of usedStates) {
    if (Date.now() < expiresAt && usedStates.size < mostUsedStates) break
    usedStates.delete(oldest)
  }
  usedStates.set(state, transaction.expiresAt)
}

/** The transaction as plain data, secrets included. */
export function toRecord(transaction: LoginTransaction): TransactionRecord {
  const { state, codeVerifier } = openSecrets(transaction)
  const { scopes: _scopes, ...readable } = transaction
  return { ...readable, state, codeVerifier }
}

export function expiredTransaction(): LoginError {
  return new LoginError('The login took longer than it may.', {
    reason: 'transaction_expired',
    hint: 'Start the login again; `transactionLifetime` says how long one may take.',
  })
}
