import {
  ActorSelfRequiredError,
  type ClientOptions,
  InsufficientScopeError,
  SupportWorkspace,
  type WebFetch,
} from 'support-workspace-sdk'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../../src/client/resources/built-in-operations.ts'
import { Resource } from '../../../src/client/resources/resource.ts'
import { knownScopes } from '../../../src/shared/scopes.ts'
import { responseSchema } from '../../api/response-schema.ts'
import { rejection } from '../../helpers/client.ts'
import { calls, type Ids, run } from './calls.ts'
import { documentedOperations } from './service-documents.ts'

const rows = operations.map((operation) => [operation.id, operation] as const)
const selfOnly = rows.filter(([, { actor }]) => actor === 'self')
const forAnyActor = rows.filter(([, { actor }]) => actor === undefined)

let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await startSandbox({ conversations: 5, contacts: 5, members: 60, tasks: 60, segments: 60 })
})

afterAll(() => sandbox.close())

/** Returns the ids of existing resources and of a new message by the user of the token. */
async function existing(): Promise<Ids> {
  const { state } = sandbox
  const owner = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }) })
  const [conversation, contact, task, segment] = [state.conversations, state.contacts, state.tasks, state.segments].map(
    (resources) => resources[0]?.id ?? '',
  ) as [string, string, string, string]
  const { id } = await owner.messages.create(conversation, { body_html: '<p>My message</p>' })
  return { conversation, message: id, contact, member: state.members.at(-1)?.id ?? '', task, segment }
}

function clientFor(accessToken: string, options: Partial<ClientOptions> = {}) {
  return new SupportWorkspace({ baseUrl: sandbox.url, accessToken, maxRetries: 0, ...options }) as SupportWorkspace
}

describe('the operations table', () => {
  test('has exactly the operations that are documented or inferred from the documents', () => {
    const rows = operations.map(({ method, path, scope, actor, evidence }) => [
      method,
      path,
      scope ?? 'none',
      actor ?? 'any',
      evidence,
    ])
    expect(rows.map(String).sort()).toEqual(documentedOperations.map(String).sort())
  })

  test('has unique ids', () => {
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
  })

  test('has a row for every client method, and every row has a method', () => {
    const workspace = clientFor(sandbox.issueToken())
    const methods = Object.entries(workspace).flatMap(([name, resource]) =>
      resource instanceof Resource
        ? Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
            .filter((method) => method !== 'constructor')
            .map((method) => `${name}.${method}`)
        : [],
    )
    expect(['me', ...methods].sort()).toEqual(operations.map(({ id }) => id).sort())
  })

  test('uses every scope of the service', () => {
    const used = new Set(operations.map(({ scope }) => scope))
    expect(knownScopes.filter((scope) => !used.has(scope))).toEqual([])
  })
})

test.each(rows)('%s sends its method to its path, and its data matches its schema', async (id, operation) => {
  const { method, path, envelope } = operation
  let body = ''
  const recording: WebFetch = async (url, init) => {
    const response = await fetch(url, init)
    body = await response.clone().text()
    return response
  }
  const strict = clientFor(sandbox.issueToken({ actor: 'self' }), { validation: 'strict', fetch: recording })
  const result = await run(id, strict, await existing())
  const request = sandbox.requests.at(-1)
  expect(request?.method).toBe(method)
  expect(request?.path).toMatch(new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`))
  expect(request?.status).toBeLessThan(300)
  const schema = responseSchema(id)
  if (schema === undefined) expect(body).toBe('')
  else expect(schema.safeParse(JSON.parse(body)).error).toBeUndefined()
  if (envelope === 'none') expect(result).toBeUndefined()
  else if (envelope === 'list') expect(result).toHaveProperty('data')
  else expect(result).toBeTypeOf('object')
})

describe('with an app token', () => {
  test.each(selfOnly)('%s is rejected by the service', async (id) => {
    const error = await rejection(run(id, clientFor(sandbox.issueToken({ actor: 'app' })), await existing()))
    expect(error).toBeInstanceOf(ActorSelfRequiredError)
    expect(error).toMatchObject({ operation: id, status: 422, code: 'actor_self_required', outcome: 'refused' })
  })

  test.each(selfOnly)('%s on an app client sends no request', async (id) => {
    const ids = await existing()
    const before = sandbox.requests.length
    const error = await rejection(run(id, clientFor(sandbox.issueToken(), { actor: 'app' }), ids))
    expect(error).toBeInstanceOf(ActorSelfRequiredError)
    expect(error).toMatchObject({ operation: id, outcome: 'not-sent', response: undefined, attempts: [] })
    expect(sandbox.requests.length).toBe(before)
  })

  // Only its author may change a message, so that an app is refused for another reason. For removing a member, the
  // documents say both that an app performs "admin operations on members" and that "managing members" needs a person: the
  // client sends the request, and the sandbox refuses it.
  const refusedByService = ['messages.update', 'members.remove']

  test.each(forAnyActor.filter(([id]) => !refusedByService.includes(id)))('%s works on an app client', async (id) => {
    await run(id, clientFor(sandbox.issueToken({ actor: 'app' }), { actor: 'app' }), await existing())
  })

  test.each(rows.filter(([id]) => refusedByService.includes(id)))('%s on an app client is refused', async (id) => {
    const error = await rejection(run(id, clientFor(sandbox.issueToken(), { actor: 'app' }), await existing()))
    expect(error).toMatchObject({ operation: id, outcome: 'refused' })
  })
})

const withScope = operations.flatMap(({ id, scope }) => (scope === undefined ? [] : [[id, scope] as const]))

test.each(withScope)('%s without the scope %s rejects with the scopes to request', async (id, scope) => {
  const granted = knownScopes.filter((known) => known !== scope)
  const accessToken = sandbox.issueToken({ actor: 'self', scopes: granted })
  const error = await rejection(run(id, clientFor(accessToken, { scopes: granted }), await existing()))
  expect(error).toBeInstanceOf(InsufficientScopeError)
  expect(error).toMatchObject({
    operation: id,
    outcome: 'refused',
    required: [scope],
    granted,
    missing: [scope],
    scopesToRequest: [...granted, scope],
  })
})

describe('a request body', () => {
  const withBody = rows.filter(([, { method }]) => method === 'POST' || method === 'PATCH')

  test('is part of every write except deletes', () => {
    expect(withBody.filter(([id]) => calls[id].body === undefined)).toEqual([])
    expect(withBody.filter(([, { body }]) => body === undefined)).toEqual([])
  })

  test.each(withBody)('of %s can have unknown fields, which are sent unchanged', async (id) => {
    const extra = { brand_new: { nested: [1, null, 'é'] }, also_new: null }
    await run(id, clientFor(sandbox.issueToken({ actor: 'self' })), await existing(), { extra })
    expect(sandbox.requests.at(-1)?.body).toMatchObject(extra)
  })
})
