import { inspect } from 'node:util'
import fc from 'fast-check'
import type { ApiError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { errorDetails } from '../../src/core/error-body.ts'
import { json, makeClient, rejection, scripted, token } from '../helpers/client.ts'

/** The error of a contact that the service rejects with this body. */
async function rejected(body: unknown, contact: object = { email: 'ada@example.com' }): Promise<ApiError> {
  const client = makeClient({ fetch: scripted(() => json(body, 422)) })
  return (await rejection(client.contacts.create(contact as never))) as ApiError
}

describe('the message of a 422', () => {
  test.each<[unknown, string]>([
    [
      { errors: { email: ['has already been taken'], name: ['is too long'] } },
      '422: email: has already been taken; name: is too long.',
    ],
    [{ errors: ['email is invalid'] }, '422: email is invalid.'],
    [{ errors: { name: ["can't be blank"] } }, "422: name: can't be blank."],
    [
      { message: 'Validation failed', errors: [{ field: 'email', code: 'invalid' }] },
      '422: Validation failed (email: invalid).',
    ],
    [{ detail: [{ loc: ['body', 'email'], msg: 'field required', type: 'missing' }] }, '422: email: field required.'],
    [
      { title: 'Invalid', 'invalid-params': [{ name: 'email', reason: 'is invalid' }] },
      '422: Invalid (email: is invalid).',
    ],
    [{ error: 'unprocessable', error_description: 'Check the fields.' }, '422 unprocessable: Check the fields.'],
    [{ errors: { a: ['x'], b: ['x'], c: ['x'], d: ['x'] } }, '422: a: x; b: x; c: x.'],
    [{ errors: { email: { nested: true }, 'ada@example.com': ['taken'] } }, '422: email; taken.'],
    [{ errors: [{ field: 'email', message: 'ada@example.com is taken' }] }, '422: email.'],
    [{ errors: [] }, '422.'],
    [{ errors: [{ code: 'ada@example.com' }] }, '422.'],
    [{ errors: [{ code: 'taken: ada@example.com' }] }, '422.'],
    [{ errors: [{ loc: ['ada@example.com', 'x'] }, { field: ['Ada', 'Ada'] }, { field: 'Ada[0]' }] }, '422.'],
    [{ errors: [{ loc: [{ toString: 1 }, 'body', 'items', 3, null], msg: 'is bad' }] }, '422: items.3: is bad.'],
  ])('%j', async (body, expected) => {
    expect((await rejected(body)).message).toContain(`contacts.create failed with ${expected}`)
  })

  test.each([
    'Ada Lovelace is taken',
    'the name ada is taken',
    '"somebody" is taken',
    "'somebody' is taken",
    "van 't Hart is taken",
    '‘somebody’ is taken',
    'number 4711 is taken',
    'x'.repeat(81),
  ])('leaves out a reason that has a value or is long: %s', async (reason) => {
    const { message } = await rejected(
      { errors: { name: [reason] } },
      { email: 'ada@example.com', name: 'Ada Lovelace' },
    )
    expect(message).toContain('failed with 422: name.')
  })
})

describe('error.details', () => {
  test('has the body, and no log shows it', async () => {
    const body = { errors: { email: ['ada@example.com is taken'] }, trace: [1, null, true] }
    const error = await rejected(body)
    expect(error.details).toEqual(body)
    for (const shown of [JSON.stringify(error), inspect(error), error.message, JSON.stringify({ ...error })]) {
      expect(shown).not.toContain('ada@example.com')
    }
  })

  test('has no number that repeats a secret', () => {
    const body = { after: 1732700000123, count: 17 }
    expect(errorDetails(JSON.stringify(body), ['1732700000123'])).toEqual({ after: '[redacted]', count: 17 })
  })

  test.each([['not JSON'], [''], ['<html>']])('is undefined if the body is %j', (text) => {
    expect(errorDetails(text, [])).toBeUndefined()
  })

  test('of any JSON is bounded, has no secret, and keeps keys such as __proto__ as they are', () => {
    const hostile = fc.constantFrom('__proto__', 'constructor', '0', 'errors', token, `x${token}y`, 'a'.repeat(10_000))
    const anyJson = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 12 }, fc.jsonValue({ maxDepth: 12 }), hostile, tie('list'), tie('object')),
      list: fc.array(tie('value')),
      object: fc.array(fc.tuple(fc.oneof(hostile, fc.string()), tie('value'))).map(Object.fromEntries),
    })).value
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
    fc.assert(
      fc.property(anyJson, (body) => {
        const details = errorDetails(JSON.stringify(body), [token])
        const text = JSON.stringify(details) ?? ''
        expect(text.length).toBeLessThanOrEqual(2_000)
        expect(text).not.toContain(token)
        expect(depthOf(details)).toBeLessThanOrEqual(5)
        expect(Object.getPrototypeOf({})).not.toHaveProperty('polluted')
      }),
      { numRuns: 150 },
    )
  })
})

test('no error body puts a sent value or a secret into the message', async () => {
  const value = 'marker-of-a-customer'
  const anyBody = fc.letrec((tie) => ({
    text: fc.constantFrom(value, `the ${value} is taken`, value.toUpperCase(), token, 'is invalid', '12', ''),
    node: fc.oneof({ maxDepth: 4 }, tie('text'), fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('node'), { maxLength: 4 }),
    object: fc
      .array(fc.tuple(fc.constantFrom('field', 'loc', 'msg', 'code', value, '__proto__', '7', token), tie('node')), {
        maxLength: 4,
      })
      .map(Object.fromEntries),
    body: fc
      .tuple(fc.constantFrom('errors', 'detail', 'invalid-params'), fc.oneof(tie('list'), tie('object')))
      .map((entry) => Object.fromEntries([entry])),
  })).body
  await fc.assert(
    fc.asyncProperty(anyBody, async (body) => {
      const { message } = await rejected(body, { email: 'ada@example.com', name: value })
      expect(message).toContain('failed with 422')
      expect(message.toLowerCase()).not.toContain(value)
      expect(message).not.toContain(token)
    }),
    { numRuns: 50 },
  )
})
