import { checkOptions } from '../check-options.ts'
import { LoginError } from '../errors/index.ts'
import { isObject, parseObject } from '../json.ts'
import { createSealer, type Opened, type Sealer, type SealSecret } from './seal.ts'
import { expiredTransaction, LoginTransaction, type TransactionRecord, toTransactionRecord } from './transaction.ts'

/**
 * Returns a transaction as text that survives the redirect. Store it in the `sessionStorage` of the browser that started
 * the login, which belongs to one tab.
 *
 * **The text contains the state and the code verifier in plain text.** Do not log it, send it, or store it where another
 * origin or another user can read it. On a server use `sealTransaction`.
 *
 * @throws LoginError `transaction_used`, `transaction_expired`, `transaction_invalid`
 */
export function serializeTransaction(transaction: LoginTransaction): string {
  return JSON.stringify(toTransactionRecord(transaction))
}

/**
 * Returns the transaction that `serializeTransaction` wrote. Accepts the result of `sessionStorage.getItem` unchanged.
 * Remove the item immediately: a transaction can be used for one callback, and a reloaded page does not know that it was
 * used.
 *
 * @throws LoginError `transaction_missing` when there is no text, `transaction_invalid` when it is not a transaction,
 * `transaction_expired`
 */
export function parseTransaction(text: string | null | undefined): LoginTransaction {
  if (text === null || text === undefined || text === '') throw missingTransaction()
  return fromTransactionRecord(parseObject(text))
}

/** The options of `sealTransaction` and `openTransaction`. */
export interface SealOptions {
  /** At least 32 characters. For rotation pass several: the first seals, and each of them opens. */
  readonly secret: SealSecret
}

const sealOptionNames = { secret: true } satisfies Record<keyof SealOptions, true>

const purpose = 'login transaction'

/**
 * Seals a transaction as text for a cookie or a hidden field. The text can be neither read nor changed without the
 * secret, and opens until the transaction expires, so servers need no session store and any of them can finish the login.
 * (JWE with `dir` and `A256GCM`, RFC 7516.)
 *
 * Bind it to the browser that you redirect with an HttpOnly, SameSite=Lax cookie, and clear the cookie in the callback:
 * the text itself can be opened any number of times.
 *
 * @throws InvalidArgumentError when an option is invalid, such as a secret of fewer than 32 characters
 * @throws LoginError `transaction_used`, `transaction_expired`, `transaction_invalid`
 */
export async function sealTransaction(transaction: LoginTransaction, options: SealOptions): Promise<string> {
  return transactionSealer(options).seal(toTransactionRecord(transaction), transaction.expiresAt)
}

/**
 * Opens a transaction that `sealTransaction` sealed. Accepts a cookie's value unchanged, including `undefined`.
 * `finishLogin` then checks that the transaction belongs to its app, service and redirect URI.
 *
 * @throws InvalidArgumentError when an option is invalid, such as a secret of fewer than 32 characters
 * @throws LoginError `transaction_missing` when there is no text, `transaction_expired`, `transaction_invalid` when the
 * text was changed or sealed with a secret that was not passed
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
  checkOptions('options', options, sealOptionNames, 'a sealed transaction')
  return createSealer(options.secret, purpose)
}

/** Returns the sealed value, or throws the `LoginError` for the reason that it does not open. */
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
  return new LoginError('The login transaction was changed, truncated or sealed with an unknown secret.', {
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
