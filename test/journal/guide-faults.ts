import { rm } from 'node:fs/promises'
import type { SupportWorkspace } from 'support-workspace-sdk'
import { type FaultTestOptions, type FaultTestWorld, faultTest } from 'support-workspace-sdk/fault-test'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { examplesFolder, readPage, writeFiles } from '../docs/page.ts'

type Journal = WriteJournal<'self'>

interface Functions {
  replyToAll(workspace: SupportWorkspace<'self'>, journal: Journal): Promise<void>
  importContacts(journal: Journal, emails: readonly string[]): Promise<{ unconfirmed: number }>
  exportAll(workspace: SupportWorkspace, file: string): Promise<void>
}

/** The functions of the recipes, once `loadFunctions` has loaded them. */
export let functions: Functions

/** Loads the functions of the recipes before the tests of a file. */
export function loadFunctions(): void {
  const folder = `${examplesFolder}/recipes-${process.pid}`
  beforeAll(async () => {
    for (const name of ['log', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => {})
    const load = async (page: string, name: string) => {
      await writeFiles(readPage(`docs/${page}.md`).files, `${folder}/${page}`)
      return import(/* @vite-ignore */ `${folder}/${page}/${name}.mts`)
    }
    functions = {
      ...(await load('automatic-replies', 'reply-to-all')),
      ...(await load('import', 'import-contacts')),
      ...(await load('export', 'export-all')),
    }
  })
  afterAll(async () => {
    vi.restoreAllMocks()
    await rm(folder, { recursive: true, force: true })
  })
}

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

/** How long the journal waits for late effects, and what is then unconfirmed. */
export const settling: readonly (readonly [title: string, confirmTimeout: number, unconfirmed: readonly string[]])[] = [
  ['come within confirmTimeout', 30_000, withoutEffect],
  ['come later', 3_000, [...withoutEffect, 'late-effect'].sort()],
]

export async function faultTestReplies(
  confirmTimeout: number,
  expected: readonly string[],
  conversations: number,
): Promise<void> {
  const options = { sandbox: { conversations, contacts: 3 } }
  const faults = await unconfirmedAfter(confirmTimeout, options, async ({ workspace, journal }) => {
    await functions.replyToAll(workspace, journal)
    await functions.replyToAll(workspace, journal)
  })
  expect(faults).toEqual(expected)
}

export async function faultTestContacts(count: number): Promise<void> {
  const emails = Array.from({ length: count }, (_, index) => `new-${index}@example.com`)
  const done = ({ unconfirmed }: { readonly unconfirmed: number }) => unconfirmed === 0
  const options = { done, sandbox: { conversations: 1, contacts: 3 } }
  const faults = await unconfirmedAfter(30_000, options, ({ journal }) => functions.importContacts(journal, emails))
  // Another contact may be about to leave when the process is killed.
  expect(['killed-before-assignment', ...withoutEffect]).toEqual(expect.arrayContaining([...faults]))
  expect(faults).toEqual(expect.arrayContaining(withoutEffect))
}
