import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { generatedFiles } from '../../scripts/generate.ts'
import { generatedPages } from '../../scripts/service-pages.ts'
import { models, operations } from '../../src/api/index.ts'
import { root } from '../docs/page.ts'
import { documentedFields } from './documented-fields.ts'

const all = Object.values(operations)
const servicePage = readFileSync(`${root}docs/service.md`, 'utf8')
const fields = Object.entries(models).flatMap(([model, { fields }]) =>
  Object.entries(fields).map(([name, field]) => [`${model}.${name}`, field] as const),
)

describe('operations', () => {
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
})

describe('fields', () => {
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
})

test('every fact has a source with title, section and day', () => {
  const facts = [...all, ...all.flatMap(({ notes }) => notes), ...fields.flatMap(([, field]) => [field, field.meaning])]
  const sources = facts.flatMap(({ sources }) => sources)
  expect(facts.filter(({ sources }) => sources.length === 0)).toEqual([])
  expect(sources.filter(({ title, section, date }) => !title || !section || !/^\d{4}-\d\d-\d\d$/.test(date))).toEqual(
    [],
  )
})

test('every fact of docs/service.md has its evidence and a source', () => {
  const items = servicePage.replaceAll(/\n {2}(?=\S)/g, ' ').split('\n')
  const facts = items.filter((line) => line.startsWith('- ') && !line.startsWith('- **'))
  expect(facts.length).toBeGreaterThan(50)
  expect(facts.filter((fact) => !/ \((specification|reference|inferred), .+\)$/.test(fact))).toEqual([])
})

test('the facts are frozen plain data', () => {
  const isFrozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  const facts = { operations, models }
  expect(Object.values(facts).every(isFrozen)).toBe(true)
  expect(JSON.parse(JSON.stringify(facts))).toEqual(facts)
})

test('the files that are generated from src/api are current', async () => {
  const files = Object.entries({ ...generatedFiles(), ...(await generatedPages()) })
  const stale = files.filter(([path, text]) => readFileSync(root + path, 'utf8') !== text).map(([path]) => path)
  expect(stale, 'run `npm run generate` and `npm run docs`').toEqual([])
})

function namesIn(text: string): string[] {
  return text.match(/\w+/g) ?? []
}
