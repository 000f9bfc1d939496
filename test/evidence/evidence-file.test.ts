import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'support-workspace-sdk'
import {
  describeEvidence,
  type EvidenceFile,
  mergeEvidence,
  overlayOf,
  parseEvidence,
} from 'support-workspace-sdk/probe'
import { describe, expect, test } from 'vitest'
import { withEvidence } from '../../scripts/facts.ts'
import { openApiDocument } from '../../scripts/openapi.ts'
import { root } from '../docs/page.ts'

const seen = (calls: number, first: string, last = first) => ({ calls, first, last })
const empty: EvidenceFile = { version: 1, operations: {}, fields: {}, traits: {}, undetermined: {} }
const evidence = (parts: Partial<EvidenceFile>): EvidenceFile => ({ ...empty, ...parts })

const one = evidence({
  operations: { 'contacts.get': { 200: seen(2, '2026-11-03', '2026-11-05') } },
  fields: { 'contact.blocked': { boolean: seen(2, '2026-11-03', '2026-11-05') } },
  traits: { 'limit.default': { 20: seen(1, '2026-11-03') } },
  undetermined: { 'headers.etag': 'It takes more.', 'limit.largest': 'It takes a limit.' },
})
const other = evidence({
  operations: { 'contacts.get': { 200: seen(3, '2026-11-01'), 404: seen(1, '2026-11-01') } },
  fields: { 'contact.blocked': { null: seen(1, '2026-11-01'), absent: seen(4, '2026-11-01') } },
  traits: { 'limit.default': { 50: seen(1, '2026-11-01') }, 'headers.etag': { none: seen(1, '2026-11-01') } },
})

describe('merging', () => {
  test('adds the calls, and keeps the first and the last day', () => {
    expect(mergeEvidence(one, other)).toEqual({
      version: 1,
      operations: { 'contacts.get': { 200: seen(5, '2026-11-01', '2026-11-05'), 404: seen(1, '2026-11-01') } },
      fields: {
        'contact.blocked': {
          boolean: seen(2, '2026-11-03', '2026-11-05'),
          null: seen(1, '2026-11-01'),
          absent: seen(4, '2026-11-01'),
        },
      },
      traits: {
        'limit.default': { 20: seen(1, '2026-11-03'), 50: seen(1, '2026-11-01') },
        'headers.etag': { none: seen(1, '2026-11-01') },
      },
      undetermined: { 'limit.largest': 'It takes a limit.' },
    })
  })

  test('has the same result in any order, and changes no file', () => {
    const before = JSON.stringify([one, other])
    expect(mergeEvidence(other, one)).toEqual(mergeEvidence(one, other))
    expect(mergeEvidence(mergeEvidence(one, other), one)).toEqual(mergeEvidence(one, mergeEvidence(one, other)))
    expect(mergeEvidence(one)).toEqual(one)
    expect(mergeEvidence()).toEqual(empty)
    expect(JSON.stringify([one, other])).toBe(before)
  })

  test('shows a trait that was found in two ways', () => {
    expect(describeEvidence(mergeEvidence(one, other))).toEqual([
      'What do ETags do? none',
      'How many conversations has a page without `limit`? 20 or 50',
      'How many conversations has a page at most? Undetermined. It takes a limit.',
      'contacts.get is inferred, and was observed in 5 calls from 2026-11-01 to 2026-11-05.',
    ])
  })
})

describe('a file', () => {
  test('is read as it was written', () => {
    expect(parseEvidence(JSON.stringify(mergeEvidence(one, other)))).toEqual(mergeEvidence(one, other))
  })

  test.each<[string, unknown]>([
    ['is no JSON', undefined],
    ['has no section', { version: 1 }],
    ['has another version', { ...empty, version: 2 }],
    ['has a section that no version has', { ...empty, notes: {} }],
    ['names an operation that the catalogue lacks', { ...empty, operations: { 'tags.list': {} } }],
    ['names a field of another model', { ...empty, fields: { 'customer.name': {} } }],
    ['names a field in another form', { ...empty, fields: { 'contact.Secret Name': {} } }],
    ['has a kind that is no type', { ...empty, fields: { 'contact.name': { 'Ada Lovelace': seen(1, '2026-11-01') } } }],
    ['names another trait', { ...empty, traits: { 'limit.odd': {} } }],
    ['has a count of 0', { ...empty, traits: { 'limit.default': { 20: seen(0, '2026-11-01') } } }],
    ['has a time', { ...empty, traits: { 'limit.default': { 20: seen(1, '2026-11-01T10:00:00Z') } } }],
  ])('that %s is rejected without quoting it', (_, value) => {
    const text = JSON.stringify(value) ?? 'Ada Lovelace'
    expect(() => parseEvidence(text)).toThrow(InvalidArgumentError)
    expect(() => parseEvidence(text)).not.toThrow(/Lovelace|Secret/)
  })
})

describe('an Overlay', () => {
  test('has an action for each operation and field of the catalogue that was observed', () => {
    const undocumented = { 'contact.vip': { boolean: seen(1, '2026-11-01') } }
    const overlay = overlayOf(mergeEvidence(one, other, evidence({ fields: undocumented })))
    expect(overlay).toMatchObject({ overlay: '1.0.0' })
    expect(overlay?.actions).toEqual([
      {
        target: "$['paths']['/api/oauth/v1/contacts/{id}']['get']['x-evidence']",
        update: { observed: seen(5, '2026-11-01', '2026-11-05') },
      },
      {
        target: "$['components']['schemas']['Contact']['properties']['blocked']['x-evidence']",
        update: { observed: seen(3, '2026-11-01', '2026-11-05') },
      },
    ])
  })

  test('is there only if something was observed', () => {
    const refused = { 'tasks.list': { 404: seen(1, '2026-11-01') } }
    const absent = { 'contact.blocked': { absent: seen(1, '2026-11-01') } }
    expect(overlayOf(evidence({ operations: refused, fields: absent, traits: one.traits }))).toBeUndefined()
  })
})

test('`npm run facts` proposes observations, and changes no level', () => {
  const before = readFileSync(`${root}src/api/observed.ts`, 'utf8')
  const after = withEvidence(before, mergeEvidence(one, other, evidence({ fields: { 'contact.vip': {} } })))
  const [, json = ''] = after.split(/\n\} = /)
  expect(after.startsWith(before.slice(0, before.indexOf('} = ')))).toBe(true)
  expect(JSON.parse(json)).toEqual({
    operations: { 'contacts.get': seen(5, '2026-11-01', '2026-11-05') },
    fields: { 'contact.blocked': seen(3, '2026-11-01', '2026-11-05') },
  })
  expect(JSON.stringify(openApiDocument())).not.toContain('"observed":{')
})
