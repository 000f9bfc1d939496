import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  ActorSelfRequiredError,
  ApiError,
  defineOperation,
  InsufficientScopeError,
  NotFoundError,
  SupportWorkspace,
} from 'support-workspace-sdk'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../src/resources/operations.ts'
import { Resource } from '../../src/resources/resource.ts'
import { knownScopes } from '../../src/scopes.ts'
import { calls, type Ids, run } from './calls.ts'
import { documentedOperations } from './service-documents.ts'

const rows = operations.map((operation) => [operation.id, operation] as const)
const selfOnly = rows.filter(([, { actor }]) => actor === 'self')
const forAnyActor = rows.filter(([, { actor }]) => actor === undefined)
const inferred = rows.filter(([, { evidence }]) => evidence === 'inferred')
const documented = rows.filter(([, { evidence }]) => evidence !== 'inferred')

let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await startSandbox({ conversations: 5, contacts: 5, members: 60, tasks: 60, segments: 60 })
})

afterAll(() => sandbox.close())

/** Things that exist, with a message of the owner's own. */
async function existing(): Promise<Ids> {
  const { state } = sandbox
  const owner = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }) })
  const [conversation, contact, task, segment] = [state.conversations, state.contacts, state.tasks, state.segments].map(
    (things) => things[0]?.id ?? '',
  ) as [string, string, string, string]
  const { id } = await owner.messages.create(conversation, { body_html: '<p>Mine</p>' })
  return { conversation, message: id, contact, member: state.members.at(-1)?.id ?? '', task, segment }
}

function clientFor(accessToken: string, options: { actor?: 'app' | 'self'; scopes?: readonly string[] } = {}) {
  return new SupportWorkspace({ baseUrl: sandbox.url, accessToken, maxRetries: 0, ...options }) as SupportWorkspace
}

async function failureOf(call: PromiseLike<unknown>): Promise<unknown> {
  return call.then(
    () => expect.unreachable('the call succeeded'),
    (error: unknown) => error,
  )
}

describe('the table', () => {
  test('has exactly the operations that the service documents, and those that follow from its documents', () => {
    const table = operations.map(({ method, path, scope, actor, evidence }) => [
      method,
      path,
      scope ?? 'none',
      actor ?? 'any',
      evidence,
    ])
    expect(table.map(String).sort()).toEqual(documentedOperations.map(String).sort())
  })

  test('names each operation once', () => {
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
  })

  test('has a row for every method of the client, and a method for every row', () => {
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

  test('has a row for every scope of the service', () => {
    const used = new Set(operations.map(({ scope }) => scope))
    expect(knownScopes.filter((scope) => !used.has(scope))).toEqual([])
  })

  test('has each row in the README and in api.md', async () => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
    const api = await readFile(new URL('../../api.md', import.meta.url), 'utf8')
    for (const { id, method, path, evidence } of operations) {
      const row = readme.split('\n').find((line) => line.startsWith(`| \`${id}(`))
      expect(row, id).toContain(`\`${method} ${path}\``)
      expect(row, id).toContain(evidence)
      expect(api, id).toContain(`### workspace.${id}\n`)
    }
  })
})

describe('over HTTP, with a token that may do it', () => {
  test.each(rows)('%s succeeds at its path', async (id, { method, path, envelope }) => {
    const workspace = clientFor(sandbox.issueToken({ actor: 'self' }))
    const ids = await existing()
    const result = await run(id, workspace, ids)
    const request = sandbox.requests.at(-1)
    expect(request?.method).toBe(method)
    expect(request?.path).toMatch(new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`))
    expect(request?.status).toBeLessThan(300)
    if (envelope === 'none') expect(result).toBeUndefined()
    else if (envelope === 'list') expect(result).toHaveProperty('data')
    else expect(result).toBeTypeOf('object')
  })

  test.each(rows)('%s fits its schema', async (id) => {
    const accessToken = sandbox.issueToken({ actor: 'self' })
    const strict = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, validation: 'strict' })
    await run(id, strict, await existing())
  })
})

describe('the actor wall', () => {
  test.each(selfOnly)('%s with an app token is refused by the service', async (id) => {
    const error = await failureOf(run(id, clientFor(sandbox.issueToken({ actor: 'app' })), await existing()))
    expect(error).toBeInstanceOf(ActorSelfRequiredError)
    expect(error).toMatchObject({ operation: id, status: 422, code: 'actor_self_required', outcome: 'refused' })
  })

  test.each(selfOnly)('%s on an app client leaves no request', async (id) => {
    const ids = await existing()
    const before = sandbox.requests.length
    const error = await failureOf(run(id, clientFor(sandbox.issueToken(), { actor: 'app' }), ids))
    expect(error).toBeInstanceOf(ActorSelfRequiredError)
    expect(error).toMatchObject({ operation: id, outcome: 'not-sent', response: undefined, attempts: [] })
    expect(sandbox.requests.length).toBe(before)
  })

  // Nobody's token but the author's may change a message, so that an app's is refused there for another reason; and of
  // removing a member the documents say both that an app does "admin operations on members" and that "managing members"
  // takes a person: the client lets it out, and this sandbox refuses it.
  const refusedOtherwise = ['messages.update', 'members.remove']

  test.each(forAnyActor.filter(([id]) => !refusedOtherwise.includes(id)))('%s works on an app client', async (id) => {
    await run(id, clientFor(sandbox.issueToken({ actor: 'app' }), { actor: 'app' }), await existing())
  })

  test.each(refusedOtherwise.map((id) => [id as (typeof rows)[number][0]]))('%s goes out all the same', async (id) => {
    const error = await failureOf(run(id, clientFor(sandbox.issueToken(), { actor: 'app' }), await existing()))
    expect(error).toMatchObject({ operation: id, outcome: 'refused' })
  })
})

describe('scopes', () => {
  const withScope = operations.flatMap(({ id, scope }) => (scope === undefined ? [] : [[id, scope] as const]))

  test.each(withScope)('%s without %s is an InsufficientScopeError that says what to ask for', async (id, scope) => {
    const granted = knownScopes.filter((known) => known !== scope)
    const accessToken = sandbox.issueToken({ actor: 'self', scopes: granted })
    const error = await failureOf(run(id, clientFor(accessToken, { scopes: granted }), await existing()))
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
})

describe('bodies', () => {
  const withBody = rows.filter(([, { method }]) => method === 'POST' || method === 'PATCH')

  test('every write but a delete has one', () => {
    expect(withBody.filter(([id]) => calls[id].body === undefined)).toEqual([])
    expect(withBody.filter(([, { body }]) => body === undefined)).toEqual([])
  })

  test.each(withBody)('%s sends fields that this package does not know, as they are', async (id) => {
    const extra = { brand_new: { nested: [1, null, 'é'] }, also_new: null }
    await run(id, clientFor(sandbox.issueToken({ actor: 'self' })), await existing(), extra)
    expect(sandbox.requests.at(-1)?.body).toMatchObject(extra)
  })

  test.each(withBody)('%s leaves out what is undefined', async (id) => {
    const names = Object.keys(calls[id].body ?? {})
    const optional = ['name', 'role', 'archived', 'blocked', 'status', 'is_spam', 'pinned', 'display_name', 'locale']
    const extra = Object.fromEntries(names.filter((name) => optional.includes(name)).map((name) => [name, undefined]))
    await run(id, clientFor(sandbox.issueToken({ actor: 'self' })), await existing(), extra)
    for (const name of Object.keys(extra)) expect(sandbox.requests.at(-1)?.body).not.toHaveProperty(name)
  })
})

describe('a path that the service does not have', () => {
  let server: Server
  let status: number

  beforeAll(async () => {
    server = createServer((_, response) => response.writeHead(status).end())
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  })

  afterAll(() => new Promise((closed) => server.close(closed)))

  const nobody = { conversation: 'c', message: 'm', contact: 'k', member: 'u', task: 't', segment: 's' }

  function elsewhere() {
    const { port } = server.address() as AddressInfo
    return new SupportWorkspace({ baseUrl: `http://127.0.0.1:${port}`, accessToken: 'token' })
  }

  test.each(inferred)('%s says that it is inferred, and how to call another', async (id, { method, path }) => {
    for (status of [404, 405]) {
      const error = await failureOf(run(id, elsewhere(), nobody))
      expect(error).toBeInstanceOf(status === 404 ? NotFoundError : ApiError)
      const { hint } = error as ApiError
      expect(hint).toContain(`${method} ${path}`)
      expect(hint).toContain('inferred')
      expect(hint).toContain('defineOperation')
    }
  })

  test.each(documented)('%s does not', async (id) => {
    status = 404
    const error = await failureOf(run(id, elsewhere(), nobody))
    expect((error as ApiError).hint).not.toContain('inferred')
  })

  test('an operation of your own does not', async () => {
    status = 404
    const operation = defineOperation({ id: 'tags.list', method: 'GET', path: '/api/oauth/v1/tags' })
    const error = await failureOf(elsewhere().call(operation))
    expect((error as ApiError).hint).not.toContain('inferred')
  })
})
