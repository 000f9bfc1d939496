import { LoginError } from '../errors/index.ts'
import { createSealer, type Opened, type SealSecret } from './seal.ts'
import { expiredTransaction, LoginTransaction, type TransactionRecord, toRecord } from './transaction.ts'

/**
 * Writes a transaction down for the browser that started it, to survive the redirect: put it into `sessionStorage`,
 * which belongs to one tab.
 *
 * **The text holds the state and the code verifier in the clear.** Do not log it, send it, or keep it where another
 * origin or another user reads it. On a server use `sealTransaction`.
 *
 * @throws LoginError `transaction_used`, `transaction_expired`, `transaction_invalid`
 */
export function serializeTransaction(transaction: LoginTransaction): string {
  return JSON.stringify(toRecord(transaction))
}

/**
 * Reads what `serializeTransaction` wrote. Accepts the result of `sessionStorage.getItem` as it is. Remove the item
 * at once: a transaction serves one callback, and after a reload the page cannot know of the first.
 *
 * @throws LoginError `transaction_missing` when there is no text, `transaction_invalid` when it is not a transaction,
 * `transaction_expired`
 */
export function parseTransaction(text: string | null | undefined): LoginTransaction {
  if (text === null || text === undefined || text === '') throw missingTransaction()
  return fromRecord(parseJson(text))
}

/** A transaction from data that was read back. Throws `transaction_invalid` when it is of another shape. */
export function fromRecord(data: unknown): LoginTransaction {
  if (!isRecord(data)) throw invalidTransaction()
  return new LoginTransaction(data)
}

export function missingTransaction(): LoginError {
  return new LoginError('There is no login transaction for this callback.', {
    reason: 'transaction_missing',
    hint: 'Start the login again, in the same browser, with cookies and storage allowed.',
  })
}

export function invalidTransaction(): LoginError {
  return new LoginError('The login transaction was changed, cut, or sealed with a key that is not known.', {
    reason: 'transaction_invalid',
    hint: 'Start the login again; when you rotate keys, keep the old one until its transactions have expired.',
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's error quotes the text.
    throw invalidTransaction()
  }
}

function isRecord(data: unknown): data is TransactionRecord {
  if (typeof data !== 'object' || data === null) return false
  const record = data as Record<keyof TransactionRecord, unknown>
  const texts = [record.state, record.codeVerifier, record.baseUrl, record.clientId, record.redirectUri, record.scope]
  return (
    texts.every((value) => typeof value === 'string' && value !== '') &&
    [record.createdAt, record.expiresAt].every(Number.isFinite) &&
    (record.actor === undefined || record.actor === 'app' || record.actor === 'self') &&
    URL.canParse(record.redirectUri as string)
  )
}

export interface SealOptions {
  /** At least 32 characters. Several for rotation: the first seals, every one opens. */
  readonly secret: SealSecret
}

const purpose = 'login transaction'

/**
 * Seals a transaction as text for a cookie or a hidden field: whoever carries it can neither read nor change it, and it
 * opens until the transaction expires. So no server needs to remember a login, and any of them can finish it. (JWE with
 * `dir` and `A256GCM`, RFC 7516.)
 *
 * Bind it to the browser that you send away, with an HttpOnly, SameSite=Lax cookie, and clear that on the callback: the
 * text itself cannot know how often it has been opened.
 *
 * @throws InvalidArgumentError when a secret is shorter than 32 characters
 * @throws LoginError `transaction_used`, `transaction_expired`, `transaction_invalid`
 */
export async function sealTransaction(transaction: LoginTransaction, options: SealOptions): Promise<string> {
  return createSealer(options.secret, purpose).seal(toRecord(transaction), transaction.expiresAt)
}

/**
 * Opens what `sealTransaction` sealed. Takes a cookie's value as it is, `undefined` included. `finishLogin` then checks
 * that the transaction is for its app, service and redirect URI.
 *
 * @throws InvalidArgumentError when a secret is shorter than 32 characters
 * @throws LoginError `transaction_missing` when there is no text, `transaction_expired`, and `transaction_invalid` when
 * the text was changed, or sealed with a key that is not among the secrets
 */
export async function openTransaction(
  sealed: string | null | undefined,
  options: SealOptions,
): Promise<LoginTransaction> {
  const sealer = createSealer(options.secret, purpose)
  if (sealed === null || sealed === undefined || sealed === '') throw missingTransaction()
  return fromRecord(openedValue(await sealer.open(sealed)))
}

/** What was sealed, or the `LoginError` that says why it does not open. */
export function openedValue(opened: Opened): unknown {
  if (opened.ok) return opened.value
  throw opened.failure === 'expired' ? expiredTransaction() : invalidTransaction()
}
