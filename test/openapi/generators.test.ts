import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApiDocument } from '../../scripts/openapi.ts'
import { problemsIn } from '../docs/problems.ts'
import { folder } from './folder.ts'

/** Inside this folder, so that generated code resolves its packages. */
const generated = join(folder, '.generated')

let sandbox: Sandbox
let document: ReturnType<typeof openApiDocument>

beforeAll(async () => {
  sandbox = await startSandbox({ conversations: 5 })
  document = openApiDocument()
  rmSync(generated, { recursive: true, force: true })
  mkdirSync(generated)
  const types = await openapiTS(JSON.parse(JSON.stringify(document)))
  writeFileSync(join(generated, 'paths.ts'), astToString(types))
  writeFileSync(join(generated, 'with-fetch.ts'), withOpenapiFetch)
}, 120_000)

afterAll(async () => {
  rmSync(generated, { recursive: true, force: true })
  await sandbox.close()
})

/** Fails to compile where a value is `any` or `unknown`. */
const known = `
type Known<Value> = unknown extends Value ? never : Value
const known = <Value>(value: Value & Known<Value>): Value => value
`

const withOpenapiFetch = `
import createClient from 'openapi-fetch'
import type { paths } from './paths.ts'
${known}
export async function use(baseUrl: string, token: (actor: 'app' | 'self') => string): Promise<string[]> {
  const clientOf = (actor: 'app' | 'self') =>
    createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + token(actor) } })
  const client = clientOf('self')
  const { data: first } = await client.GET('/api/oauth/v1/conversations', { params: { query: { limit: 2 } } })
  const after = known(first?.page_metadata?.after) ?? ''
  const { data: second } = await client.GET('/api/oauth/v1/conversations', { params: { query: { limit: 2, after } } })
  const ids = [...(first?.data ?? []), ...(second?.data ?? [])].map((conversation) => known(conversation.id))
  const request = { params: { path: { conversation_id: ids[0] ?? '' } }, body: { body_html: '<p>On it.</p>' } }
  const path = '/api/oauth/v1/conversations/{conversation_id}/messages'
  const { data: message } = await client.POST(path, request)
  const { error, response } = await clientOf('app').POST(path, request)
  return [...ids, known(message?.data.body_html) ?? '', String(response.status), known(error?.error) ?? '']
}
`

describe('a client of openapi-typescript and openapi-fetch', () => {
  const file = 'with-fetch.ts'

  test('compiles, and knows the types of what it lists, creates and fails with', () => {
    expect(problemsIn([join(generated, file)], generated)).toEqual([])
  })

  test('lists, follows a cursor, creates a message and gets a 422', async () => {
    const { use } = await import(/* @vite-ignore */ join(generated, file))
    const conversations = sandbox.state.conversations.slice(0, 4).map(({ id }) => id)
    const token = (actor: 'app' | 'self') => sandbox.issueToken({ actor })
    expect(await use(sandbox.url, token)).toEqual([...conversations, '<p>On it.</p>', '422', 'actor_self_required'])
  })
})

test('the types of models have `unknown` only in free-form objects and unknown fields', () => {
  const path = join(generated, 'paths.ts')
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const odd: string[] = []
  const visit = (node: ts.Node): void => {
    const isOpen = ts.isIndexSignatureDeclaration(node.parent ?? node)
    if (node.kind === ts.SyntaxKind.AnyKeyword || (node.kind === ts.SyntaxKind.UnknownKeyword && !isOpen)) {
      odd.push(node.parent.getText())
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  expect(odd).toEqual([])
})
