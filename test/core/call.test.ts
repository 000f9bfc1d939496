import type { Call } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, refusal, rejection, scripted } from '../helpers/client.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

const succeeding = () => makeClient({ fetch: scripted(json({ data: { id: '1' } }, 200, { 'x-request-id': 'r1' })) })
const failing = () => makeClient({ fetch: scripted(refusal(404, 'not_found')) })

describe('a call', () => {
  test('is a promise of the data', async () => {
    const call = succeeding().members.get('1')
    expect(call).toBeInstanceOf(Promise)
    expect(await call).toEqual({ id: '1' })
    expect(await Promise.all([call, call])).toEqual([{ id: '1' }, { id: '1' }])
    expect(await call.then(({ id }) => id)).toBe('1')
    expect(await call.catch(() => 'not this')).toEqual({ id: '1' })
    expect(await call.finally(() => {})).toEqual({ id: '1' })
  })

  test('returns status, headers and request id of the same request from withResponse()', async () => {
    const fetch = scripted(json({ data: { id: '1' } }, 201, { 'x-request-id': 'r1' }))
    const call = makeClient({ fetch }).members.get('1')
    const { data, response } = await call.withResponse()
    expect(data).toBe(await call)
    expect(response).toMatchObject({ status: 201, requestId: 'r1' })
    expect(response.headers.get('content-type')).toContain('application/json')
    expect(fetch.requests).toHaveLength(1)
  })

  test.each([
    ['await', (call: Call<unknown>) => call],
    ['then', (call: Call<unknown>) => call.then(() => {})],
    ['finally', (call: Call<unknown>) => call.finally(() => {})],
    ['withResponse', (call: Call<unknown>) => call.withResponse()],
  ])('that fails rejects through %s and leaves no unhandled rejection', async (_, use) => {
    const unhandled = await unhandledDuring(async () => {
      expect(await rejection(use(failing().members.get('1')))).toMatchObject({ status: 404 })
    })
    expect(unhandled).toEqual([])
  })

  test('rejects with the same error each time', async () => {
    const call = failing().members.get('1')
    expect(await rejection(call)).toBe(await rejection(call.withResponse()))
  })
})
