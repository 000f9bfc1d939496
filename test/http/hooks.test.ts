import type { Hooks } from 'support-workspace-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { brokenConnection, json, makeClient, page, refusal, rejection, scripted } from '../helpers/client.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_700_000_000_000 })
  vi.spyOn(Math, 'random').mockReturnValue(0)
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const names = ['onOperationStart', 'onOperationEnd', 'onAttemptStart', 'onAttemptEnd', 'onRetry', 'onWait'] as const

/** Hooks that keep what they hear. */
function listen() {
  const heard: [string, unknown][] = []
  const hooks = Object.fromEntries(
    names.map((name) => [name, (event: unknown) => void heard.push([name, event])]),
  ) as Hooks
  return {
    heard,
    hooks,
    order: () => heard.map(([name]) => name),
    of: (name: string) => heard.filter(([each]) => each === name).map(([, event]) => event),
  }
}

describe('hooks', () => {
  test('hear of a call from its start to its end, with the fields that they document and no others', async () => {
    const { heard, hooks } = listen()
    const fetch = scripted(
      refusal(503, 'down', { 'x-request-id': 'r1' }),
      json({ data: { id: '1' } }, 200, { 'x-request-id': 'r2' }),
    )
    await makeClient({ fetch, hooks }).members.get('secret-id')
    const base = { operation: 'members.get', actor: 'self', page: undefined }
    expect(heard).toEqual([
      ['onOperationStart', base],
      ['onAttemptStart', { ...base, attempt: 1 }],
      ['onAttemptEnd', { ...base, attempt: 1, duration: 0, status: 503, requestId: 'r1', error: 'ServerError' }],
      ['onRetry', { ...base, attempt: 1, wait: 0, reason: 503 }],
      ['onAttemptStart', { ...base, attempt: 2 }],
      ['onAttemptEnd', { ...base, attempt: 2, duration: 0, status: 200, requestId: 'r2', error: undefined }],
      [
        'onOperationEnd',
        { ...base, duration: 0, attempts: 2, status: 200, requestId: 'r2', error: undefined, outcome: undefined },
      ],
    ])
    for (const [, event] of heard)
      expect(Object.keys(event as object)).toEqual(expect.arrayContaining(['operation', 'actor', 'page']))
    expect(JSON.stringify(heard)).not.toContain('secret-id')
  })

  test('hear how a call failed, and what is known of its effect', async () => {
    const { hooks, of } = listen()
    const fetch = scripted(refusal(422, 'validation_failed', { 'x-request-id': 'r1' }))
    await rejection(makeClient({ fetch, hooks }).messages.create('c1', { body_html: 'x' }))
    expect(of('onOperationEnd')).toEqual([
      expect.objectContaining({
        error: 'UnprocessableError',
        outcome: 'refused',
        status: 422,
        requestId: 'r1',
        attempts: 1,
      }),
    ])
  })

  test('hear why a request is sent again', async () => {
    const { hooks, of } = listen()
    const fetch = scripted(brokenConnection(), refusal(429, 'x', { 'retry-after': '0' }), json({}))
    await makeClient({ fetch, hooks }).me()
    expect(of('onRetry')).toMatchObject([
      { attempt: 1, reason: 'NetworkError' },
      { attempt: 2, reason: 429 },
    ])
  })

  test('hear the number of each page', async () => {
    const { hooks, of } = listen()
    const fetch = scripted(json(page([], 'a')), json(page([], 'b')), json(page([])))
    await makeClient({ fetch, hooks }).conversations.list().toArray()
    expect(of('onOperationStart')).toMatchObject([{ page: 1 }, { page: 2 }, { page: 3 }])
    expect(of('onOperationEnd')).toMatchObject([{ page: 1 }, { page: 2 }, { page: 3 }])
  })

  test.each([
    [
      'the caller aborts',
      'AbortError',
      1,
      (signal: AbortSignal) => ({ signal, fetch: () => new Promise<never>(() => {}) }),
    ],
    ['the caller aborted before', 'AbortError', 0, () => ({ signal: AbortSignal.abort() })],
    [
      'there is no token',
      'VaultError',
      0,
      () => ({
        accessToken: () => Promise.reject(Object.assign(new Error('shut'), { name: 'VaultError' })),
      }),
    ],
    ['the token provider rejects with undefined', 'Error', 0, () => ({ accessToken: () => Promise.reject(undefined) })],
    ['an option is wrong', 'InvalidArgumentError', 0, () => ({ timeout: -1 })],
  ] as const)('hear an end for each start when %s', async (_, error, attempts, options) => {
    const { hooks, of, order } = listen()
    const controller = new AbortController()
    const { signal, timeout, ...clientOptions } = {
      signal: undefined,
      timeout: undefined,
      ...options(controller.signal),
    }
    const client = makeClient({ fetch: scripted(json({})), hooks, ...clientOptions })
    const result = rejection(client.me({ signal, timeout }))
    await new Promise(setImmediate)
    controller.abort()
    await result
    expect(order().filter((name) => name === 'onAttemptStart')).toHaveLength(attempts)
    expect(of('onAttemptEnd')).toHaveLength(attempts)
    expect(of('onOperationStart')).toHaveLength(1)
    expect(of('onOperationEnd')).toEqual([expect.objectContaining({ error, attempts })])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('broken hook')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken hook'))],
    ['is no function', 'not a function'],
    [
      'changes its event',
      (event: Record<string, unknown>) => {
        for (const key of Object.keys(event)) event[key] = 'changed'
      },
    ],
  ])('never break a call when one %s', async (_, hook) => {
    const unhandled: unknown[] = []
    const hear = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', hear)
    const hooks = Object.fromEntries(names.map((name) => [name, hook])) as never
    const fetch = scripted(refusal(503, 'x'), json({ id: 1 }), refusal(404, 'x'))
    const client = makeClient({ fetch, hooks })
    expect(await client.me()).toEqual({ id: 1 })
    expect(await rejection(client.members.get('1'))).toMatchObject({ operation: 'members.get', outcome: 'refused' })
    await new Promise(setImmediate)
    process.off('unhandledRejection', hear)
    expect(unhandled).toEqual([])
  })

  test('are called as methods of the object that holds them', async () => {
    class Watcher implements Hooks {
      count = 0
      onOperationEnd() {
        this.count += 1
      }
    }
    const hooks = new Watcher()
    await makeClient({ fetch: scripted(json({})), hooks }).me()
    expect(hooks.count).toBe(1)
  })
})
