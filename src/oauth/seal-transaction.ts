import { createSealer, type Opened, type SealSecret } from './seal.ts'
import { fromRecord, invalidTransaction, missingTransaction } from './serialize-transaction.ts'
import { expiredTransaction, type LoginTransaction, toRecord } from './transaction.ts'

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
