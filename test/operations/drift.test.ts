import fc from 'fast-check'
import { type Drift, type OperationId, SupportWorkspace } from 'support-workspace-sdk'
import { expect, test } from 'vitest'
import { operations } from '../../src/resources/operations.ts'
import { samples } from '../models/samples.ts'
import { type Ids, run } from './calls.ts'
import { useJsonServers } from './json-server.ts'

const serve = useJsonServers()

const ids: Ids = { conversation: 'c', message: 'm', contact: 'k', member: 'u', task: 't', segment: 's' }

/** The sample of the data that each resource or operation returns. */
const sampleOf: Readonly<Record<string, keyof typeof samples>> = {
  me: 'me',
  conversations: 'conversation',
  'conversations.assign': 'conversationAssignee',
  messages: 'message',
  notes: 'message',
  contacts: 'contact',
  members: 'member',
  organization: 'organization',
  'organization.getSettings': 'organizationSettings',
  'organization.updateSettings': 'organizationSettings',
  tasks: 'task',
  segments: 'segment',
}

/** A word that occurs in no schema and no sample, so that a test can search for it in a report. */
const secretWord = 'zq5wordzq5'

const surprise = fc.oneof(
  fc.constant(null),
  fc.constant(secretWord),
  fc.constant([secretWord]),
  fc.constant({ [secretWord]: secretWord, id: 7 }),
  fc.jsonValue({ maxDepth: 2 }),
)

/** An item as a later version of the service may send it: fields missing, null, of another type or unknown, at any depth. */
function mutationsOf(sample: unknown): fc.Arbitrary<unknown> {
  if (Array.isArray(sample)) return fc.array(mutationsOf(sample[0]), { maxLength: 3 })
  if (typeof sample !== 'object' || sample === null) {
    return fc.oneof({ weight: 3, arbitrary: fc.constant(sample) }, { weight: 1, arbitrary: surprise })
  }
  const known = fc.record(
    Object.fromEntries(Object.entries(sample).map(([name, value]) => [name, mutationsOf(value)])),
    { requiredKeys: [] },
  )
  const unknown = fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), surprise, { maxKeys: 3 })
  const whole = fc.tuple(known, unknown).map(([fields, more]) => ({ ...more, ...fields }))
  return fc.oneof({ weight: 5, arbitrary: whole }, { weight: 1, arbitrary: fc.constant(null) })
}

function itemsOf(id: OperationId): fc.Arbitrary<Record<string, unknown>> {
  const name = sampleOf[id] ?? sampleOf[id.split('.')[0] ?? '']
  if (name === undefined) throw new Error(`${id} has no sample.`)
  return (
    mutationsOf(samples[name])
      .filter((item) => item !== null)
      // JSON changes a `__proto__` key and negative zero, so that the expected value must pass through it too.
      .map((item) => JSON.parse(JSON.stringify(item)))
  )
}

const withData = operations.filter(({ envelope }) => envelope !== 'none')
const single = withData.filter(({ envelope }) => envelope !== 'list').map(({ id, envelope }) => [id, envelope] as const)
const lists = withData.filter(({ envelope }) => envelope === 'list').map(({ id }) => [id] as const)

test.each(single)('%s returns the data as sent, for any fields', async (id, envelope) => {
  let item: unknown
  const server = await serve(() => ({ body: envelope === 'bare' ? item : { data: item } }))
  const drifts: Drift[] = []
  const accessToken = 'swot_abc123def456'
  const workspace = new SupportWorkspace({ baseUrl: server.url, accessToken, onDrift: (drift) => drifts.push(drift) })
  await fc.assert(
    fc.asyncProperty(itemsOf(id), async (generated) => {
      item = generated
      expect(await run(id, workspace, ids)).toEqual(generated)
      expectNoValue(drifts.splice(0), id)
    }),
    { numRuns: 25 },
  )
})

test.each(lists)('%s iterates over items of any type, page after page', async (id) => {
  let pages: unknown[][] = []
  const server = await serve(({ url }) => {
    const number = Number(new URL(url, 'http://x').searchParams.get('after') ?? 0)
    const after = number + 1 < pages.length ? String(number + 1) : null
    return { body: { data: pages[number] ?? [], page_metadata: { after, before: null, total: 'unknown' }, more: 1 } }
  })
  const drifts: Drift[] = []
  const accessToken = 'swot_abc123def456'
  const workspace = new SupportWorkspace({ baseUrl: server.url, accessToken, onDrift: (drift) => drifts.push(drift) })
  const anything = fc.oneof({ weight: 5, arbitrary: itemsOf(id) }, { weight: 1, arbitrary: surprise })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(anything, { maxLength: 3 }), { maxLength: 3 }), async (generated) => {
      pages = JSON.parse(JSON.stringify(generated))
      const items: unknown[] = []
      for await (const item of run(id, workspace, ids) as unknown as AsyncIterable<unknown>) items.push(item)
      expect(items).toEqual(pages.flat())
      expectNoValue(drifts.splice(0), id)
    }),
    { numRuns: 25 },
  )
})

/** Expects a report to contain types and the paths of documented fields, and nothing that the sender made up. */
function expectNoValue(drifts: readonly Drift[], id: OperationId): void {
  for (const { operation, expected, received, count, ...rest } of drifts) {
    expect(count).toBeGreaterThan(0)
    expect(operation).toBe(id)
    expect(Object.keys(rest)).toEqual(['path'])
    expect([expected, received].join()).not.toContain(secretWord)
    expect(received).toMatch(/^(string|number|boolean|object|array|null|missing)$/)
    expect(rest.path.join('.')).not.toContain(secretWord)
  }
}

test('the drift report of a built-in operation has paths, types and counts', async () => {
  const server = await serve(() => ({ body: { data: [{ id: 'm', role: 7, user: { id: 'u' } }, { user: {} }] } }))
  const drifts: Drift[] = []
  const accessToken = 'swot_abc123def456'
  const workspace = new SupportWorkspace({ baseUrl: server.url, accessToken, onDrift: (drift) => drifts.push(drift) })
  await workspace.members.list()
  expect(drifts).toEqual([
    { operation: 'members.list', path: ['role'], expected: 'string', received: 'number', count: 1 },
    { operation: 'members.list', path: ['id'], expected: 'string', received: 'missing', count: 1 },
    { operation: 'members.list', path: ['user', 'id'], expected: 'string', received: 'missing', count: 1 },
  ])
})
