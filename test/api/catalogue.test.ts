import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { generatedPages } from '../../scripts/service-pages.ts'
import { models, operations, topics } from '../../src/api/index.ts'
import { operations as clientOperations } from '../../src/client/resources/operations.ts'
import { documentedNames } from '../../src/client/schemas/validate.ts'
import { root } from '../docs/page.ts'
import { documentedFields } from './documented-fields.ts'

const all = Object.values(operations)
const fields = Object.entries(models).flatMap(([model, { fields }]) =>
  Object.entries(fields).map(([name, field]) => [`${model}.${name}`, field] as const),
)

describe('operations', () => {
  test('are those of the client, with the same request, scope, actor, evidence and envelope', () => {
    const expected = clientOperations.map(({ id, method, path, scope, actor = 'any', evidence, envelope = 'item' }) => {
      return { id, method, path, scope, actor, evidence, envelope }
    })
    const found = all.map(({ id, method, path, scope, actor, evidence, envelope }) => {
      return { id, method, path, scope, actor, evidence, envelope }
    })
    expect(found).toEqual(expected)
  })

  test('name a body where the client sends one, and a response where it reads one', () => {
    for (const { id, body, response } of clientOperations) {
      expect([id, operations[id].body !== undefined], id).toEqual([id, body !== undefined])
      expect([id, operations[id].response !== undefined], id).toEqual([id, response !== undefined])
    }
  })

  test('have the operation ids of the reference, each once', () => {
    const printed = `getMe createConversation assignConversation listMessages createMessage updateMessage deleteMessage
      createNote listContacts createContact updateContact listUsers createUser getUser updateUser getOrganization
      updateOrganization updateOrganizationSettings`.split(/\s+/)
    const ofReference = all.filter(({ evidence, id }) => evidence === 'reference' || id === 'me')
    expect(ofReference.map(({ operationId }) => operationId).sort()).toEqual(printed.sort())
    expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length)
  })

  test.each([
    ['GET', 'safe'],
    ['DELETE', 'safe'],
    ['POST', 'unsafe'],
    ['PATCH', 'unknown'],
  ] as const)('say that repeating a %s is %s', (method, repeat) => {
    expect(new Set(all.filter((operation) => operation.method === method).map((each) => each.repeat))).toEqual(
      new Set([repeat]),
    )
  })

  test('name the page of each actor that is printed', () => {
    const actors = topics.find(({ title }) => title === 'Actors')?.facts ?? []
    const sections = actors.flatMap(({ sources }) => sources.map(({ section }) => section))
    const byReference = ['contacts.create', 'messages.delete', 'conversations.assign', 'members.update'] as const
    for (const id of byReference) expect(sections).toContain(operations[id].sources[0]?.section)
  })
})

describe('fields', () => {
  test('of a body are those that the schemas of the client know', () => {
    for (const { body } of all) {
      if (body === undefined) continue
      const names = Object.keys(models[body].fields)
      expect(documentedNames(body as Parameters<typeof documentedNames>[0]), body).toEqual(
        names.length === 0 ? undefined : names,
      )
    }
  })

  test('have a row for each field of the two documents, and for no other', () => {
    const found = Object.entries(models).map(([name, { fields }]) => [name, Object.keys(fields).sort()])
    const expected = Object.entries(documentedFields).map(([name, text]) => [name, namesIn(text).sort()])
    expect(found.sort()).toEqual(expected.sort())
  })

  test('are inferred where only MCP tools name them, and required as printed', () => {
    for (const [name, text] of Object.entries(documentedFields)) {
      const [printed = '', guessed = ''] = text.split('|')
      const model = models[name as keyof typeof models].fields
      for (const field of namesIn(printed)) expect(model[field]?.evidence, `${name}.${field}`).not.toBe('inferred')
      for (const field of namesIn(guessed)) expect(model[field]?.evidence, `${name}.${field}`).toBe('inferred')
      const required = [...text.matchAll(/\*(\w+)/g)].map(([, field]) => field)
      const found = Object.entries(model).filter(([, field]) => field.required)
      expect(found.map(([field]) => field).sort(), name).toEqual(required.sort())
    }
  })

  test('refer to models that exist', () => {
    const names = fields.flatMap(([, { model }]) => model ?? [])
    expect(names.length).toBeGreaterThan(10)
    expect(names.filter((name) => !Object.hasOwn(models, name))).toEqual([])
  })

  test('of responses can be null or absent unless required, and those of requests cannot be null', () => {
    const odd = fields.filter(([name, { required, nullable }]) => {
      const isRequest = /(Body|Query)\./.test(name)
      return isRequest ? nullable !== undefined : required === (nullable !== undefined)
    })
    expect(odd.map(([name]) => name)).toEqual([])
  })

  test('say what is a guess: nearly every meaning in a conversation, and no name', () => {
    const conversation = Object.entries(models.conversation.fields)
    expect(conversation.filter(([, { evidence }]) => evidence !== 'reference')).toEqual([])
    const known = conversation.filter(([, { meaning }]) => meaning.evidence !== 'inferred')
    expect(known.map(([name]) => name)).toEqual(['id', 'meta_info'])
  })
})

test('every fact has a source with title, section and day', () => {
  const facts = [
    ...all,
    ...topics.flatMap(({ facts }) => facts),
    ...fields.flatMap(([, field]) => [field, field.meaning]),
  ]
  const sources = facts.flatMap(({ sources }) => sources)
  expect(facts.filter(({ sources }) => sources.length === 0)).toEqual([])
  expect(sources.filter(({ title, section, date }) => !title || !section || !/^\d{4}-\d\d-\d\d$/.test(date))).toEqual(
    [],
  )
})

test('the catalogue is frozen plain data', () => {
  const isFrozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  const catalogue = { operations, models, topics }
  expect(Object.values(catalogue).every(isFrozen)).toBe(true)
  expect(JSON.parse(JSON.stringify(catalogue))).toEqual(catalogue)
})

test('the pages that are generated from the catalogue are up to date', async () => {
  const pages = Object.entries(await generatedPages())
  const stale = pages.filter(([path, text]) => readFileSync(root + path, 'utf8') !== text).map(([path]) => path)
  expect(stale, 'run `npm run docs`').toEqual([])
})

function namesIn(text: string): string[] {
  return text.match(/\w+/g) ?? []
}
