import { type FaultTestReport, faultTestProgram, type ProgramOptions } from '../../src/fault-test/index.ts'

/** A program that can send requests, without the client, which would take a while to load. */
export function programOf(code: string): string[] {
  const prelude = `import fs from 'node:fs'
    const { SUPPORT_WORKSPACE_URL: url, SUPPORT_WORKSPACE_TOKEN: token, SUPPORT_WORKSPACE_FOLDER: folder } = process.env
    const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
    const call = (path, body) => fetch(url + '/api/oauth/v1/' + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
      .then((response) => response.status, () => 0)`
  return [process.execPath, '--input-type=module', '-e', `${prelude}\n${code}`]
}

export const addContact = "const status = await call('contacts', { email: 'ada@example.com' })"
/** Ends as the guide says, by the status of the response. */
export const byStatus = `${addContact}
  process.exit({ 201: 0, 422: 0, 503: 75, 429: 75, 401: 77, 0: 65 }[status])`

export async function attemptsOf(code: string, options: ProgramOptions): Promise<Record<string, string>> {
  const { runs } = await faultTestProgram(programOf(code), options)
  return Object.fromEntries(
    runs.map(({ id, attempts }) => [id, attempts.join(', ').replaceAll('ended with code ', '')]),
  )
}

export function failuresOf({ runs }: FaultTestReport): string[] {
  return runs.flatMap(({ id, judgements }) => judgements.map(({ name }) => `${id} ${name}`))
}

/** A program of the folder `programs`, and what a fault test says of it. */
export interface PlantedProgram {
  readonly file: string
  readonly options?: ProgramOptions
  /** The failed runs of a quick test, each with its first judgement. */
  readonly quick: readonly string[]
  /** The number of failures of each kind in a whole test. */
  readonly all: Readonly<Record<string, number>>
}

export const plantedPrograms: readonly PlantedProgram[] = [
  { file: 'reply-journal.mjs', quick: [], all: {} },
  {
    file: 'reply-note-state-first.mjs',
    quick: ['revoked@2 lost', 'revoked@3 lost', 'killed-before-request@2 lost', 'killed-before-request@3 lost'],
    all: { lost: 4, doubled: 1 },
  },
  { file: 'reply-note-open.mjs', quick: [], all: { lost: 1 } },
  {
    file: 'import-repeated.mjs',
    quick: ['reset-after-effect@4 doubled', 'killed-after-effect@4 doubled'],
    all: { doubled: 10 },
  },
  { file: 'export-rename.mjs', options: { outputs: ['out.txt'] }, quick: [], all: {} },
  {
    file: 'export-append.mjs',
    options: { outputs: ['out.txt'] },
    quick: [2, 4, 6].map((at) => `killed-before-file-write@${at} doubled`),
    all: { doubled: 6, stuck: 3 },
  },
  {
    file: 'exit-zero.mjs',
    quick: [
      ...['unavailable@2', 'unavailable@3', 'reset-after-effect@2', 'revoked@1', 'revoked@2', 'revoked@3'].map(
        (id) => `${id} lost`,
      ),
      ...['killed-before-request@3', 'killed-after-effect@2', 'killed-after-effect@3'].map((id) => `${id} doubled`),
    ],
    all: { lost: 15, doubled: 11 },
  },
  {
    file: 'throws-after-write.mjs',
    quick: [
      ...['unavailable@3', 'reset-after-effect@2', 'reset-after-effect@3', 'killed-before-request@3'],
      ...['killed-after-effect@2', 'killed-after-effect@3', 'killed-before-file-write@1'],
    ].map((id) => `${id} doubled`),
    all: { doubled: 26 },
  },
  {
    file: 'never-ends.mjs',
    quick: ['revoked@1 never-ends', 'revoked@2 never-ends'],
    all: { 'never-ends': 4 },
  },
]

/** Returns the failures of a quick test of a program. */
export async function quickFailures({ file, options }: PlantedProgram): Promise<string[]> {
  const { runs } = await faultTestPlanted(file, { ...options, quick: true })
  return runs.flatMap(({ id, judgements: [first] }) => (first === undefined ? [] : `${id} ${first.name}`))
}

/** Tests one of the programs. They load the source of the client. */
export function faultTestPlanted(file: string, options: ProgramOptions = {}): Promise<FaultTestReport> {
  const path = `test/fault-test/programs/${file}`
  const command = file.endsWith('.sh')
    ? ['bash', path]
    : [process.execPath, '--import', './scripts/from-source.js', path]
  const sandbox = { conversations: 12, contacts: 12 }
  return faultTestProgram(command, { unseen: 'allowed', sandbox, ...options })
}
