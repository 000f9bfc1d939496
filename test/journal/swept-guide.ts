import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import type { DatabaseSync } from 'node:sqlite'
import type { SupportWorkspace } from 'support-workspace-sdk'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { type SweepOptions, type SweepWorld, sweepFaults } from 'support-workspace-sdk/sweep'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { examplesFolder, examplesOf, writeExamples } from '../readme/examples.ts'

type Journal = WriteJournal<'self'>

interface Programs {
  replyToAll(workspace: SupportWorkspace<'self'>, journal: Journal): Promise<void>
  importContacts(journal: Journal, emails: readonly string[]): Promise<{ unconfirmed: number }>
  exportAll(workspace: SupportWorkspace, database: DatabaseSync): Promise<void>
}

/** The programs of the guide, once `loadPrograms` has loaded them. */
export let programs: Programs

/** Loads the programs of the guide before the tests of a file. They run when they are loaded, here with nothing to do. */
export function loadPrograms(): void {
  const examples = `${examplesFolder}/killed-jobs-swept-${process.pid}`
  let folder: string
  let sandbox: Sandbox
  beforeAll(async () => {
    folder = await mkdtemp(`${tmpdir()}/killed-`)
    await writeFile(`${folder}/emails.txt`, '')
    sandbox = await startSandbox({ conversations: 0 })
    const globals = { folder, baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }) }
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
    for (const name of ['log', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => {})
    await writeExamples(examples, examplesOf('write-journal.md'))
    const load = async (name: string) => import(/* @vite-ignore */ `${examples}/write-journal/${name}.ts`)
    programs = { ...(await load('reply')), ...(await load('import')), ...(await load('export')) }
  })
  afterAll(async () => {
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
    await sandbox.close()
    for (const path of [folder, examples]) await rm(path, { recursive: true, force: true })
  })
}

/** Sweeps a job with a journal. Returns the faults after which it ended as unconfirmed. */
async function unconfirmedAfter<Value>(
  confirmTimeout: number,
  options: SweepOptions<undefined, Value>,
  job: (world: SweepWorld & { readonly journal: Journal }) => Promise<Value>,
): Promise<readonly string[]> {
  const report = await sweepFaults((world) => {
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

export async function sweepReplies(
  confirmTimeout: number,
  expected: readonly string[],
  conversations: number,
  seed = 1,
): Promise<void> {
  const options = { seed, sandbox: { conversations, contacts: 3 } }
  const faults = await unconfirmedAfter(confirmTimeout, options, async ({ workspace, journal }) => {
    await programs.replyToAll(workspace, journal)
    await programs.replyToAll(workspace, journal)
  })
  expect(faults).toEqual(expected)
}

export async function sweepContacts(count: number, seed = 1): Promise<void> {
  const emails = Array.from({ length: count }, (_, index) => `new-${index}@example.com`)
  const done = ({ unconfirmed }: { readonly unconfirmed: number }) => unconfirmed === 0
  const options = { seed, done, sandbox: { conversations: 1, contacts: 3 } }
  const faults = await unconfirmedAfter(30_000, options, ({ journal }) => programs.importContacts(journal, emails))
  // Another contact may be about to leave when the process is killed.
  expect(['killed-before-assignment', ...withoutEffect]).toEqual(expect.arrayContaining([...faults]))
  expect(faults).toEqual(expect.arrayContaining(withoutEffect))
}
