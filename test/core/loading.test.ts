import { afterAll, expect, test, vi } from 'vitest'

const original = Object.getOwnPropertyDescriptor(globalThis, 'fetch')
const wrapper = vi.fn<() => Promise<Response>>()
const read = vi.fn(() => wrapper)
Object.defineProperty(globalThis, 'fetch', { get: read, configurable: true })
afterAll(() => void Object.defineProperty(globalThis, 'fetch', original ?? {}))

// Loads the package anew, as a new process does.
vi.resetModules()
await import('support-workspace-sdk/oauth')

const readsWhileLoading = read.mock.calls.length

test('loading this package does not read the global fetch, which would load it in Node 22.0', () => {
  expect(readsWhileLoading).toBe(0)
})
