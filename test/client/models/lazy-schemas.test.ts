import { type Drift, schemas, UnexpectedResponseError } from 'support-workspace-sdk'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { json, page, rejection } from '../../helpers/client.ts'

beforeEach(() => void vi.resetModules())
afterEach(() => void vi.doUnmock('../../../src/client/schemas/validate.ts'))

/** Loads the package anew, as a new process does. */
async function loadPackage() {
  return import('../../../src/index.ts')
}

const options = { baseUrl: 'https://api.test', accessToken: 'swot_token', actor: 'self' } as const

test('the first validation is asynchronous, and later ones are synchronous', async () => {
  const { schemas: fresh } = await loadPackage()
  const first = fresh.contact['~standard'].validate({ id: 'c' })
  expect(first).toBeInstanceOf(Promise)
  expect(await first).toEqual({ value: { id: 'c' } })
  expect(fresh.member['~standard'].validate({ id: 'm' })).toEqual({ value: { id: 'm' } })
})

test('a valid value is returned itself, not a copy', async () => {
  const value = { id: 'c', more: {} }
  expect(await schemas.contact['~standard'].validate(value)).toEqual({ value })
  expect((await schemas.contact['~standard'].validate(value)) as { value: unknown }).toHaveProperty('value', value)
})

test('a read without checks never loads the schemas, and a write does', async () => {
  const load = vi.fn(() => vi.importActual<object>('../../../src/client/schemas/validate.ts'))
  vi.doMock('../../../src/client/schemas/validate.ts', load)
  const { SupportWorkspace } = await loadPackage()
  const fetch = async (_: string, { method }: { method: string }) =>
    json(method === 'GET' ? page([{ id: 'c' }]) : { data: { id: 'c' } })
  const workspace = new SupportWorkspace({ ...options, fetch })
  await workspace.contacts.list().toArray()
  expect(load).not.toHaveBeenCalled()
  await workspace.contacts.create({ email: 'ada@example.com' })
  expect(load).toHaveBeenCalledTimes(1)
})

test('all items of the first checked list are checked', async () => {
  const { SupportWorkspace } = await loadPackage()
  const drifts: Drift[] = []
  const fetch = async () => json(page([{ id: 'c' }, { id: 'd', source: 1 }, { id: 'e', source: 2 }]))
  await new SupportWorkspace({ ...options, fetch, onDrift: (drift) => void drifts.push(drift) }).contacts.list()
  expect(drifts).toMatchObject([{ path: ['source'], received: 'number', count: 2 }])
})

test('if the schemas cannot be loaded, a write is not sent, and the error names the cause', async () => {
  vi.doMock('../../../src/client/schemas/validate.ts', () => {
    throw new Error('404')
  })
  const { SupportWorkspace, RequestError } = await loadPackage()
  const fetch = vi.fn(async () => json({ data: { id: 'c' } }))
  const workspace = new SupportWorkspace({ ...options, fetch })
  const error = await rejection(workspace.contacts.create({ email: 'ada@example.com' }))
  expect(error).toBeInstanceOf(RequestError)
  expect(error).toMatchObject({
    message: expect.stringContaining('schemas of this package could not be loaded'),
    outcome: 'not-sent',
    remedy: 'retry',
    cause: expect.any(Error),
  })
  expect(fetch).not.toHaveBeenCalled()
})

test('if the schemas cannot be loaded, a read returns its data unless the client is strict', async () => {
  vi.doMock('../../../src/client/schemas/validate.ts', () => {
    throw new Error('404')
  })
  const { SupportWorkspace } = await loadPackage()
  const onDrift = vi.fn()
  const fetch = async () => json(page([{ id: 7 }]))
  const { data } = await new SupportWorkspace({ ...options, fetch, onDrift }).contacts.list()
  expect(data).toEqual([{ id: 7 }])
  expect(onDrift).not.toHaveBeenCalled()
  const error = await rejection(new SupportWorkspace({ ...options, fetch, validation: 'strict' }).contacts.list())
  expect(error).toBeInstanceOf(UnexpectedResponseError)
  expect(error).toMatchObject({ reason: 'schema', message: expect.stringContaining('could not be loaded') })
})
