// The functions of three guides under every fault. In the gate, the guides' own tests kill and disturb their programs, and the
// export has its faults here.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SupportWorkspace } from 'support-workspace-sdk'
import { type FaultTestOptions, type FaultTestWorld, faultTest } from 'support-workspace-sdk/fault-test'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { examplesFolder, readPage, writeFiles } from '../../test/docs/page.ts'
import { isFull } from '../is-full.ts'

type Journal = WriteJournal<'self'>

interface Functions {
  replyToAll(workspace: SupportWorkspace<'self'>, journal: Journal): Promise<void>
  importContacts(journal: Journal, emails: readonly string[]): Promise<{ unconfirmed: number }>
  exportAll(workspace: SupportWorkspace, file: string): Promise<void>
}

const timeout = 600_000
const folder = mkdtempSync(join(tmpdir(), 'fault-test-export-'))
const guides = `${examplesFolder}/recipes-${process.pid}`
let functions: Functions

beforeAll(async () => {
  for (const name of ['log', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => {})
  const load = async (page: string, name: string) => {
    await writeFiles(readPage(`docs/${page}.md`).files, `${guides}/${page}`)
    return import(/* @vite-ignore */ `${guides}/${page}/${name}.mts`)
  }
  functions = {
    ...(await load('automatic-replies', 'reply-to-all')),
    ...(await load('import', 'import-contacts')),
    ...(await load('export', 'export-all')),
  }
})
afterAll(async () => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
  await rm(guides, { recursive: true, force: true })
})

/** Runs a fault test of a job with a journal. Returns the faults after which it ended as unconfirmed. */
async function unconfirmedAfter<Value>(
  confirmTimeout: number,
  options: FaultTestOptions<undefined, Value>,
  job: (world: FaultTestWorld & { readonly journal: Journal }) => Promise<Value>,
): Promise<readonly string[]> {
  const report = await faultTest((world) => {
    const { workspace, storage } = world
    return job({ ...world, journal: new WriteJournal({ workspace, storage, confirmTimeout, stopAfter: 5 }) })
  }, options)
  report.assert()
  const unconfirmed = report.runs.filter(({ end }) => end === 'verify' || end === 'not-done')
  return [...new Set(unconfirmed.map(({ id }) => id.replace(/@.*/, '')))].sort()
}

const withoutEffect = ['killed-before-request', 'reset-before-effect', 'unavailable', 'unavailable-from-here']

// How long the journal waits for late effects, and what is then unconfirmed.
test.runIf(isFull).each([
  ['come within confirmTimeout', 30_000, withoutEffect],
  ['come later', 3_000, [...withoutEffect, 'late-effect'].sort()],
])('no reply is doubled or lost if late effects %s', { timeout }, async (_, confirmTimeout, expected) => {
  const options = { sandbox: { conversations: 4, contacts: 3 } }
  const faults = await unconfirmedAfter(confirmTimeout, options, async ({ workspace, journal }) => {
    await functions.replyToAll(workspace, journal)
    await functions.replyToAll(workspace, journal)
  })
  expect(faults).toEqual(expected)
})

test.runIf(isFull)('no contact is doubled or lost', { timeout }, async () => {
  const emails = Array.from({ length: 6 }, (_, index) => `new-${index}@example.com`)
  const done = ({ unconfirmed }: { readonly unconfirmed: number }) => unconfirmed === 0
  const options = { done, sandbox: { conversations: 1, contacts: 3 } }
  const faults = await unconfirmedAfter(30_000, options, ({ journal }) => functions.importContacts(journal, emails))
  // Another contact may be about to leave when the process is killed.
  expect(['killed-before-assignment', ...withoutEffect]).toEqual(expect.arrayContaining([...faults]))
  expect(faults).toEqual(expect.arrayContaining(withoutEffect))
})

test('an export survives every fault, without a journal', { timeout }, async () => {
  const report = await faultTest(({ workspace, context }) => functions.exportAll(workspace, context), {
    sandbox: { conversations: 60, messagesPerConversation: 1 },
    requests: isFull ? [1, 2, 30, 52, 53, 62] : [2, 62],
    setup: () => join(mkdtempSync(join(folder, 'run-')), 'conversations.ndjson'),
    check: (tested, { end, context }) => {
      if (end !== 'done') return
      const lines = readFileSync(context, 'utf8').trim().split('\n')
      const ids = lines.map((line) => JSON.parse(line).id)
      // What could not be read at first comes last.
      expect(ids.sort()).toEqual(tested.state.conversations.map(({ id }) => id).sort())
    },
  })
  report.assert()
})
