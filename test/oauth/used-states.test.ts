import { expect, onTestFinished, test, vi } from 'vitest'
import type { LoginTransaction, TransactionRecord } from '../../src/oauth/transaction.ts'

// A module of its own: the other tests of this process have used transactions, too.
vi.resetModules()
const transactions = await import('../../src/oauth/transaction.ts')
const { isComplete, markComplete, markUsed, openSecrets } = transactions

function makeTransaction(state: string, lifetime = 600_000): LoginTransaction {
  const createdAt = Date.now()
  const record: TransactionRecord = {
    state,
    codeVerifier: 'x'.repeat(43),
    baseUrl: 'https://api.example',
    clientId: 'app_abc123',
    redirectUri: 'https://app.example/callback',
    scope: 'conversations:read',
    createdAt,
    expiresAt: createdAt + lifetime,
  }
  return new transactions.LoginTransaction(record)
}

const used = expect.objectContaining({ reason: 'transaction_used' })

test('forgets a used transaction with the next one that is used after its expiry', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const brief = makeTransaction('brief', 1_000)
  markUsed(brief)
  vi.setSystemTime(brief.expiresAt)
  expect(() => openSecrets(brief)).toThrow(used)
  markUsed(makeTransaction('later'))
  expect(() => openSecrets(brief)).toThrow(expect.objectContaining({ reason: 'transaction_expired' }))
  // Its login may still be completed.
  markComplete('brief')
  expect(isComplete('brief')).toBe(false)
})

test('rejects copies of a used transaction while 10,000 others are used', () => {
  const first = makeTransaction('first')
  markUsed(first)
  for (let count = 1; count < 10_000; count++) markUsed(makeTransaction(`other ${count}`))
  expect(() => openSecrets(first)).toThrow(used)
  expect(() => openSecrets(makeTransaction('first'))).toThrow(used)
  // Above the limit the oldest state is dropped, which bounds the memory.
  markUsed(makeTransaction('one more'))
  expect(openSecrets(makeTransaction('first')).state).toBe('first')
  expect(() => openSecrets(makeTransaction('other 1'))).toThrow(used)
})
