import ky from 'ky'
import { expect, test } from 'vitest'

test('ky passes on what its `fetch` returns, also after a retry', async () => {
  const reply = { data: Symbol('of the reply') }
  let attempt = 0
  const result: unknown = await ky('https://api.example', {
    timeout: false,
    throwHttpErrors: false,
    async fetch() {
      attempt += 1
      if (attempt === 1) throw new Error('The first attempt failed.')
      return reply as never
    },
    retry: { limit: 1, delay: () => 0, shouldRetry: () => true },
  })
  expect(result).toBe(reply)
  expect(attempt).toBe(2)
})
