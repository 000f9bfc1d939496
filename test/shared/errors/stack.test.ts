import { InvalidArgumentError, SupportWorkspace } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { operations } from '../../../src/client/resources/operations.ts'
import { calls } from '../../client/operations/calls.ts'
import { json, makeClient, page, refusal, rejection, scripted } from '../../helpers/client.ts'
import { thrower } from '../../helpers/failing-callbacks.ts'

/** Returns the file of the first frame, and the line before the frames. */
function startOf(error: unknown): { readonly title: string; readonly file: string } {
  const { stack = '' } = error as Error
  const [title = '', frame = ''] = stack.split(/\n(?= {4}at )/)
  return { title, file: /([\w.-]+):\d+:\d+\)?$/.exec(frame)?.[1] ?? frame }
}

const ids = { conversation: 'c', message: 'm', contact: 'k', member: 'u', task: 't', segment: 's' }
const refused = makeClient({ fetch: scripted(refusal(403, 'forbidden')) })
const repeated = makeClient({ fetch: scripted(json(page([{ id: 'c' }], 'same'))) })

describe('the stack of an error begins where the caller called', () => {
  test.each(operations.map(({ id }) => id))('%s, refused by the service', async (id) => {
    const { run, body } = calls[id]
    const error = await rejection(run(refused, ids, body as never))
    expect(startOf(error)).toEqual({ title: `PermissionDeniedError: ${(error as Error).message}`, file: 'calls.ts' })
  })

  const loop = async (list: AsyncIterable<unknown>) => {
    for await (const _ of list);
  }
  const fetch = scripted(json({ data: {} }))
  test.each<[string, () => unknown]>([
    ['an invalid id', () => refused.messages.create(undefined as never, { body_html: '' })],
    ['an invalid body, checked by a schema', () => refused.messages.create('x', {} as never)],
    ['an invalid option', () => refused.me({ timeout: -1 })],
    ['an invalid argument of a list', () => refused.contacts.list({ limit: 0 })],
    ['a loop over a list', () => loop(refused.contacts.list())],
    ['a loop over pages', () => loop(refused.contacts.list().pages())],
    ['toArray', () => refused.contacts.list().toArray()],
    ['an invalid option of toArray', () => refused.contacts.list().toArray({ maxItems: '5' as never })],
    ['a cursor that repeats', () => repeated.contacts.list().toArray()],
    ['an operation of your own', () => refused.call({ id: 'tags.list', method: 'GET', path: '/tags' })],
    ['request', () => refused.request('GET', '/tags')],
    ['connect', () => SupportWorkspace.connect({ baseUrl: 'https://api.test', accessToken: 't', fetch })],
  ])('%s', async (_, call) => {
    expect(startOf(await rejection(call() as Promise<unknown>)).file).toBe('stack.test.ts')
  })
})

test('an error that passes through another call stays as it is', async () => {
  const controller = new AbortController()
  const hanging = makeClient({ fetch: () => new Promise<never>(() => {}) })
  const sibling = rejection(hanging.contacts.list({}, { signal: controller.signal }))
  const first = (await rejection(refused.contacts.get(5 as never))) as Error
  const { stack, message } = first
  controller.abort(first)
  expect(await sibling).toBe(first)
  expect(await rejection(makeClient({ accessToken: () => Promise.reject(first) }).me())).toBe(first)
  expect([first.stack, first.message]).toEqual([stack, message])
})

test('a frozen error of a token provider stays what it is', async () => {
  const frozen = Object.freeze(new InvalidArgumentError('key', 'no such key.', ''))
  expect(await rejection(makeClient({ accessToken: () => Promise.reject(frozen) }).me())).toBe(frozen)
})

test.each([
  ['returns frames', (_: unknown, frames: unknown) => frames],
  ['throws', thrower(new RangeError('broken'))],
])('Error.prepareStackTrace that %s does not replace the error', async (_, prepare) => {
  const { prepareStackTrace } = Error
  Error.prepareStackTrace = prepare as never
  try {
    const error = await refused.contacts.create({ email: 'ada@example.com' }).catch((thrown: unknown) => thrown)
    expect((error as { outcome?: string }).outcome).toBe('refused')
  } finally {
    Error.prepareStackTrace = prepareStackTrace
  }
})

test('errors that are not of this package keep their stack', async () => {
  const own = new Error('no token')
  const { stack } = own
  const workspace = makeClient({ accessToken: () => Promise.reject(own) })
  expect(((await rejection(workspace.me())) as Error).stack).toBe(stack)
})
