import { expect, test, vi } from 'vitest'
import { open, skipWaits } from './helpers.ts'

// A program that loads the journal with `require` and the client with `import` has two copies of the package. The client
// comes from the copy of the helpers.
vi.resetModules()
const { WriteJournal } = await import('../../src/journal/index.ts')

function openCopies() {
  skipWaits()
  const world = open()
  const { workspace, storage, conversation } = world
  const journal = new WriteJournal({ workspace, storage })
  const reply = () =>
    journal.once('reply', (client) => client.messages.create(conversation, { body_html: '<p>Hi.</p>' }))
  return { ...world, journal, reply }
}

test('the journal and the client are of two copies', () => {
  expect(open().journal).not.toBeInstanceOf(WriteJournal)
})

test.each([
  ['is lost after its effect', 'after-effect'],
  ['is refused', 'refused'],
] as const)('a write whose first request %s is sent once', async (_, drop) => {
  const { fail, reply, sent } = openCopies()
  fail({ drop })
  const { id } = await reply()
  expect(await reply()).toMatchObject({ id })
  expect(sent()).toEqual([id])
})
