import { AlreadyExistsError, ApiError, type RateLimiter, ServerError, UnprocessableError } from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import {
  brokenConnection,
  json,
  makeClient,
  neverSettles,
  refusal,
  refusedConnection,
  rejection,
  type Step,
  scriptedPlatform,
} from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'
import { turns } from '../helpers/turns.ts'

const created = () => json({ data: { id: 'c' } }, 201)
const limited = () => refusal(429, 'slow_down', { 'retry-after': '0' })

/** A client whose service records, with the token, the limiter and `beforeSend`, what happens in which order. */
function recording(...steps: Step[]) {
  const log: string[] = []
  const fetch = scriptedPlatform(
    ...steps.map((step) => (): Response => {
      log.push('fetch')
      if (step instanceof Error) throw step
      return (step as Response).clone()
    }),
  )
  const rateLimiter: RateLimiter = { acquire: () => void log.push('turn'), penalize: () => {} }
  const accessToken = () => {
    log.push('token')
    return 'swot_token'
  }
  const beforeSend = async () => {
    await Promise.resolve()
    log.push('before')
    return async () => {
      await Promise.resolve()
      log.push('undo')
    }
  }
  const onRetry = () => void log.push('wait')
  const client = makeClient({ accessToken, rateLimiter, hooks: { onRetry } })
  jitter(0)
  return { log, fetch, client, beforeSend }
}

const attempt = ['token', 'turn', 'before', 'fetch']
const repeated = [...attempt, 'wait', 'undo', ...attempt]
const resumed = [...attempt, 'wait', ...attempt]
const down = refusal(503, 'down')
const contact = { email: 'ada@example.com' }

describe('beforeSend', () => {
  test.each<[string, 'create' | 'remove', Step[], string[]]>([
    ['keeps what was applied', 'create', [created()], attempt],
    ['takes back an attempt that was refused, before the next one', 'create', [limited(), created()], repeated],
    ['takes back an attempt that was not sent', 'create', [refusedConnection(), created()], repeated],
    ['takes back a refused call', 'create', [refusal(422, 'validation_failed')], [...attempt, 'undo']],
    ['keeps what may have been applied', 'create', [down], attempt],
    ['keeps what may have been applied without a response', 'create', [brokenConnection()], attempt],
    ['keeps a refused attempt after one that may have been applied', 'remove', [down, refusal(403, 'x')], resumed],
  ])('%s', async (_, method, steps, expected) => {
    const { log, client, beforeSend } = recording(...steps)
    const call =
      method === 'create' ? client.contacts.create(contact, { beforeSend }) : client.members.remove('m', { beforeSend })
    await call.catch(() => {})
    expect(log).toEqual(expected)
  })

  test('ignores an error of its undo function', async () => {
    const { client } = recording(refusal(422, 'validation_failed'))
    const beforeSend = () => () => Promise.reject(new Error('gone'))
    expect(await rejection(client.contacts.create(contact, { beforeSend }))).toBeInstanceOf(UnprocessableError)
  })

  test.each([422, 429])('ends the call after a %i if undoing takes longer than an attempt may', async (status) => {
    const { client, log } = recording(refusal(status, 'refused', { 'retry-after': '0' }), created())
    const beforeSend = () => () => new Promise(() => {})
    const call = client.contacts.create(contact, { beforeSend, timeout: 1 })
    expect(await rejection(call)).toMatchObject({ status, outcome: 'refused', attempts: [{}] })
    expect(log.filter((entry) => entry === 'turn')).toHaveLength(1)
  })

  test('has the time of an attempt, and what it did is taken back when it ends later', async () => {
    const { log, client } = recording(created())
    const { promise, resolve } = Promise.withResolvers<() => void>()
    const call = client.contacts.create(contact, { beforeSend: () => promise, timeout: 1, maxRetries: 0 })
    expect(await rejection(call)).toMatchObject({ name: 'TimeoutError', outcome: 'not-sent' })
    resolve(() => void log.push('undo'))
    await vi.waitFor(() => expect(log).toEqual(['token', 'turn', 'undo']))
  })

  test('takes back a call that is aborted at any moment before it is sent', async () => {
    for (let microtasks = 0; microtasks < 60; microtasks += 1) {
      const { log, client, beforeSend } = recording(created())
      const controller = new AbortController()
      const abort = async () => {
        for (let count = 0; count < microtasks; count += 1) await null
        controller.abort('stop')
      }
      const announce = () => {
        void abort()
        return beforeSend()
      }
      await client.contacts.create(contact, { signal: controller.signal, beforeSend: announce }).catch(() => {})
      await turns(1)
      expect(log).toEqual(['token', 'turn', 'before', log.includes('fetch') ? 'fetch' : 'undo'])
    }
  })

  test('does not keep an aborted call waiting', async () => {
    const { client } = recording(created())
    const controller = new AbortController()
    const beforeSend = () => {
      queueMicrotask(() => controller.abort('stop'))
      return neverSettles()
    }
    expect(await rejection(client.contacts.create(contact, { signal: controller.signal, beforeSend }))).toBe('stop')
  })
})

describe('a POST for what is already there', () => {
  test.each([
    [409, 'version_mismatch', AlreadyExistsError],
    [409, 'conflict', AlreadyExistsError],
    [422, 'already_exists', AlreadyExistsError],
    [422, 'email_taken', AlreadyExistsError],
    [400, 'duplicate', AlreadyExistsError],
    [422, 'conflict', UnprocessableError],
    [422, 'mistaken', UnprocessableError],
  ])('rejects after a %i %s with its class', async (status, code, ErrorClass) => {
    const { client } = recording(refusal(status, code))
    const error = await rejection(client.contacts.create(contact))
    expect(error).toMatchObject({ constructor: ErrorClass, status, code, outcome: 'refused', remedy: 'fix' })
  })

  test.each([
    ['another method', () => refusal(409, 'already_exists'), ApiError],
    ['the code of a server error', () => refusal(500, 'already_exists'), ServerError],
    ['the words of a description', () => json({ error_description: 'It already exists.' }, 422), UnprocessableError],
  ])('is not recognized by %s', async (title, response, ErrorClass) => {
    const { client } = recording(response())
    const call =
      title === 'another method' ? client.contacts.update('c', { blocked: true }) : client.contacts.create(contact)
    expect(await rejection(call)).toMatchObject({ constructor: ErrorClass })
  })
})
