import { makeClient, refusedConnection, rejection } from '../helpers/client.ts'
import 'support-workspace-sdk/oauth'
import { expect, test, vi } from 'vitest'

// Runs before the imports. The file has its own worker, so nothing is restored.
const { read, wrapper } = vi.hoisted(() => {
  const wrapper = vi.fn<() => Promise<Response>>()
  const read = vi.fn(() => wrapper)
  Object.defineProperty(globalThis, 'fetch', { get: read, configurable: true })
  return { read, wrapper }
})

const readsWhileLoading = read.mock.calls.length

test('loading this package does not read the global fetch, which would load it in Node 22.0', () => {
  expect(readsWhileLoading).toBe(0)
})

test('a write is not retried with a wrapper that was there before this package was loaded', async () => {
  wrapper.mockRejectedValue(refusedConnection())
  const error = await rejection(makeClient({ maxRetries: 1 }).messages.create('c1', { body_html: 'x' }))
  expect(error).toMatchObject({ name: 'NetworkError', outcome: 'unknown' })
  expect(wrapper).toHaveBeenCalledTimes(1)
})
