import { LoginError } from '../errors/index.ts'
import type { Actor } from '../shared/actor.ts'
import { type Check, readOptions } from '../shared/check-options.ts'
import { isObject, parseObject } from '../shared/json.ts'
import { parseScopes, type Scope } from '../shared/scopes.ts'
import { createSealer, type Opened, type Sealer, type SealSecret } from '../shared/seal.ts'

/** The secrets of a transaction. */
interface TransactionSecrets {
  readonly state: string
  readonly codeVerifier: string
}

/** A transaction as plain data, including its secrets. */
export type TransactionRecord = TransactionSecrets &
  Omit<LoginTransaction, 'scopes' | 'actor'> &
  Partial<Pick<LoginTransaction, 'actor'>>

/**
 * The property of a function that returns the secrets. It is not enumerable, so that printing, copying or serializing a
 * transaction cannot reveal them, and also found in a transaction that a reactive framework has put a proxy around.
 */
const secretsOf = /* @__PURE__ */ Symbol('secrets')

/**
 * The states that a callback has used. While the process runs, a second copy of a transaction is also rejected (a
 * replayed cookie, a reloaded page).
 */
const usedStates = /* @__PURE__ */ new Map<string, UsedState>()

interface UsedState {
  readonly expiresAt: number
  /** Whether the login was completed. */
  isComplete: boolean
}

/**
 * The maximum number of used states kept. Above it the oldest is dropped; the service still accepts a code only once.
 */
const maxUsedStates = 10_000

/**
 * A login in progress, from `startLogin` to the callback. It holds the state and the code verifier, and hides them when
 * it is printed, inspected, cloned or serialized. It can be used for one callback, and expires.
 *
 * Store it until the callback, with `serializeTransaction` in a browser or with `sealTransaction` on a server.
 * `createLoginHandlers` does this for you.
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
    const { state, codeVerifier } = record
    Object.defineProperty(this, secretsOf, { value: () => ({ state, codeVerifier }) })
  }
}

/**
 * Returns the secrets of a transaction that can still be used.
 *
 * @throws LoginError `transaction_invalid`, `transaction_used`, `transaction_expired`
 */
export function openSecrets(transaction: LoginTransaction): TransactionSecrets {
  const held = Object(transaction)[secretsOf] as (() => TransactionSecrets) | undefined
  if (held === undefined) {
    throw new LoginError('The value is not a login transaction.', {
      reason: 'transaction_invalid',
      hint: 'Store transactions with `serializeTransaction` or `sealTransaction`; a JSON copy lacks the secrets.',
    })
  }
  const secrets = held()
  if (usedStates.has(secrets.state)) {
    throw new LoginError('The login transaction has already been used by an earlier callback.', {
      reason: 'transaction_used',
      hint: 'Start the login again.',
    })
  }
  if (Date.now() >= transaction.expiresAt) throw expiredTransaction()
  return secrets
}

/** Marks a transaction, and every copy of it in this process, as used. */
export function markUsed(transaction: LoginTransaction): void {
  const { state } = openSecrets(transaction)
  for (const [oldest, { expiresAt }] of usedStates) {
    if (Date.now() < expiresAt && usedStates.size < maxUsedStates) break
    usedStates.delete(oldest)
  }
  usedStates.set(state, { expiresAt: transaction.expiresAt, isComplete: false })
}

/** Remembers that the login with this state was completed. */
export function markComplete(state: string): void {
  const used = usedStates.get(state)
  if (used !== undefined) used.isComplete = true
}

/** Whether the login with a state was completed in this process. */
export function isComplete(state: string): boolean {
  return usedStates.get(state)?.isComplete === true
}

/** Returns the transaction as plain data, including its secrets. */
export function toTransactionRecord(transaction: LoginTransaction): TransactionRecord {
  const { state, codeVerifier } = openSecrets(transaction)
  const { scopes: _scopes, ...readable } = transaction
  return { ...readable, state, codeVerifier }
}

/**
 * Returns a transaction as text that survives the redirect. Store it in the `sessionStorage` of the browser that
 * started the login, which belongs to one tab.
 *
 * **The text contains the state and the code verifier in plain text.** Do not log it, send it, or store it where
 * another origin or another user can read it. On a server use `sealTransaction`.
 *
 * @throws LoginError `transaction_used`, `transaction_expired`, `transaction_invalid`
 */
export function serializeTransaction(transaction: LoginTransaction): string {
  return JSON.stringify(toTransactionRecord(transaction))
}

/**
 * Returns the transaction that `serializeTransaction` wrote. Accepts the result of `sessionStorage.getItem` unchanged.
 * Remove the item immediately, because a transaction can be used for one callback, and a reloaded page cannot know that
 * it was used.
 *
 * @throws LoginError `transaction_missing` when there is no text, `transaction_invalid` for any other text,
 * `transaction_expired`
 */
export function parseTransaction(text: string | null | undefined): LoginTransaction {
  if (text === null || text === undefined || text === '') throw missingTransaction()
  return fromTransactionRecord(parseObject(text))
}

/** The options of `sealTransaction` and `openTransaction`. */
export interface SealOptions {
  /** At least 32 characters. For rotation pass several: the first encrypts, and each of them can decrypt. */
  readonly secret: SealSecret
}

const sealChecks = {
  // Checked when its keys are derived.
  secret: (_, secret) => secret as SealSecret,
} satisfies Record<keyof SealOptions, Check<unknown>>

/**
 * Encrypts a transaction as text for a cookie or a hidden field (JWE with `dir` and `A256GCM`, RFC 7516). Only servers
 * with the secret can read or change the text, until the transaction expires. So any of your servers can finish the
 * login, without a session store.
 *
 * Bind the text to the browser that you redirect with an HttpOnly, SameSite=Lax cookie. Clear the cookie in the
 * callback, because the text itself can be decrypted any number of times.
 *
 * @throws InvalidArgumentError when an option is invalid, such as a secret of fewer than 32 characters
 * @throws LoginError `transaction_used`, `transaction_expired`, `transaction_invalid`
 */
export async function sealTransaction(transaction: LoginTransaction, options: SealOptions): Promise<string> {
  return transactionSealer(options).seal(toTransactionRecord(transaction), transaction.expiresAt)
}

/**
 * Decrypts a transaction that `sealTransaction` encrypted. Accepts a cookie's value unchanged, including `undefined`.
 * `finishLogin` then checks that the transaction belongs to its app, service and redirect URI.
 *
 * @throws InvalidArgumentError when an option is invalid, such as a secret of fewer than 32 characters
 * @throws LoginError `transaction_missing` when there is no text, `transaction_expired`, `transaction_invalid` when the
 * text was changed or encrypted with another secret
 */
export async function openTransaction(
  sealed: string | null | undefined,
  options: SealOptions,
): Promise<LoginTransaction> {
  const sealer = transactionSealer(options)
  if (sealed === null || sealed === undefined || sealed === '') throw missingTransaction()
  return fromTransactionRecord(openedValue(await sealer.open(sealed)))
}

function transactionSealer(options: SealOptions): Sealer {
  const { secret } = readOptions(options, sealChecks, 'an encrypted transaction')
  return createSealer(secret, 'login transaction')
}

/** Returns the decrypted value, or throws a `LoginError` with the reason of the failure. */
export function openedValue(opened: Opened): unknown {
  if (opened.ok) return opened.value
  throw opened.failure === 'expired' ? expiredTransaction() : invalidTransaction()
}

/** @throws LoginError `transaction_invalid` when the data is not a transaction */
export function fromTransactionRecord(data: unknown): LoginTransaction {
  if (!isTransactionRecord(data)) throw invalidTransaction()
  return new LoginTransaction(data)
}

export function missingTransaction(): LoginError {
  return new LoginError('There is no login transaction for this callback.', {
    reason: 'transaction_missing',
    hint: 'Start the login again in the same browser, with cookies and storage allowed.',
  })
}

function invalidTransaction(): LoginError {
  return new LoginError('The login transaction was changed, truncated or encrypted with an unknown secret.', {
    reason: 'transaction_invalid',
    hint: 'Start the login again. When you rotate secrets, keep the old one until its transactions have expired.',
  })
}

function isTransactionRecord(data: unknown): data is TransactionRecord {
  if (!isObject(data)) return false
  const record = data as Partial<Record<keyof TransactionRecord, unknown>>
  const texts = [record.state, record.codeVerifier, record.baseUrl, record.clientId, record.redirectUri, record.scope]
  return (
    texts.every((value) => typeof value === 'string' && value !== '') &&
    [record.createdAt, record.expiresAt].every(Number.isFinite) &&
    (record.actor === undefined || record.actor === 'app' || record.actor === 'self') &&
    URL.canParse(record.redirectUri as string)
  )
}

function expiredTransaction(): LoginError {
  return new LoginError('The login has expired.', {
    reason: 'transaction_expired',
    hint: 'Start the login again. `transactionLifetime` sets how long a login may take.',
  })
}
