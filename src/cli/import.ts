import { existsSync } from 'node:fs'
import { access, appendFile, constants, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, parse } from 'node:path'
import { Readable } from 'node:stream'
import { Argument, type Command, InvalidArgumentError as InvalidFlagError } from '@commander-js/extra-typings'
import {
  ActorSelfRequiredError,
  AdaptiveRateLimiter,
  BadRequestError,
  InvalidArgumentError,
  jobOptions,
  SupportWorkspace,
  UnprocessableError,
} from '../index.ts'
import { UnconfirmedWriteError, type WriteCheck, WriteJournal } from '../journal/index.ts'
import { type SqliteStorage, sqliteStorage } from '../storage/index.ts'
import { tellWho } from './call.ts'
import { type ContactRow, type FailedRow, readContacts } from './contact-file.ts'
import { CommandError, commandOf } from './errors.ts'
import { collectPairs, type OptionsOf, profileOption } from './options.ts'
import { makePrivate, readBytes, requireSqlite } from './private-files.ts'
import { type Session, serviceUrl, withSession } from './session.ts'
import type { Terminal } from './terminal.ts'

const stateOption = ['--state <folder>', 'the folder of the write journal'] as const

const declareImport = (program: Command) =>
  program
    .command('import')
    .description('create what a file has, once')
    .command('contacts')
    .addOption(profileOption)
    .description('create the contacts of a CSV file; run the same command again to go on after an interruption')
    .argument('<file>', 'CSV with the columns email and name')
    .requiredOption(...stateOption)
    .option('--map <column=field>', 'what another column is; can be repeated', collectPairs('--map'), {})
    .option('--no-check', 'do not read the contacts that exist')
    .option('--failed <file>', 'write the rows that failed, with why, to a file that can be imported again')
    .option('--dry-run', 'send nothing, and tell what would be created')
    .option('--confirm-timeout <seconds>', 'how long to check for a contact whose response was lost', seconds, 30)

type Flags = OptionsOf<typeof declareImport>

/** Adds `import contacts`, and `journal` for the person who decides about unconfirmed writes. */
export function addImport(program: Command, terminal: Terminal): void {
  declareImport(program).action((file, flags) => importContacts(file, flags, terminal))
  const journal = program.command('journal').description('list and resolve the writes of an import')
  journal
    .command('list')
    .description('list the writes, each with what is known of it')
    .requiredOption(...stateOption)
    .option('--unconfirmed', 'only those that a person has to resolve')
    .action((flags) =>
      withJournal(flags.state, terminal, async (journal) => {
        for (const entry of await journal.list(flags.unconfirmed ? { state: 'unconfirmed' } : {})) {
          const sent = new Date(entry.sentAt).toISOString()
          await terminal.show({ ...entry, sent }, `${entry.state}  ${entry.key}  ${entry.operation}  ${sent}`)
        }
      }),
    )
  journal
    .command('resolve')
    .description('record whether an unconfirmed write was applied')
    .argument('<key>', 'the key, as `journal list` prints it')
    .addArgument(
      new Argument('<outcome>', 'applied, or absent to send it again').choices(['applied', 'absent'] as const),
    )
    .requiredOption(...stateOption)
    .action((key, outcome, flags) =>
      withJournal(flags.state, terminal, async (journal) => {
        await journal.resolve(key, outcome)
        const text = outcome === 'applied' ? 'The next import counts it as created.' : 'The next import sends it again.'
        await terminal.show({ key, outcome }, `${key} is ${outcome}. ${text}`)
      }),
    )
}

function seconds(text: string): number {
  if (/^\d{1,6}(\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidFlagError('Pass seconds, for example 30.')
}

type Counts = Readonly<Record<Outcome, number>>
type Outcome = 'created' | 'existed' | 'repeated' | 'failed' | 'unconfirmed'
type Result = readonly [outcome: Outcome, reason?: string, isLost?: boolean]

/** The number of writes without an answer after which the service is most likely down. */
const mostUnconfirmed = 5

async function importContacts(path: string, flags: Flags, terminal: Terminal): Promise<void> {
  const { state, dryRun = false, failed: failedPath } = flags
  const file = readContacts(await readBytes(path), flags.map)
  // Before the rows are sent whose failures it is for.
  if (failedPath !== undefined) await access(`${dirname(failedPath)}/`, constants.W_OK)
  const counts = { created: 0, existed: 0, repeated: 0, failed: 0, unconfirmed: 0 }
  const failed: FailedRow[] = []
  const storage = dryRun ? undefined : await openStorage(state, terminal)
  const work = async (session: Session): Promise<void> => {
    const create = await prepare(session, storage, flags, terminal)
    let lost = 0
    let problem: unknown
    const importRow = async (row: ContactRow): Promise<void> => {
      if (problem !== undefined || lost >= mostUnconfirmed) return
      try {
        const [outcome, reason, isLost] = await create(row).catch(resultOf)
        counts[outcome] += 1
        if (isLost) lost += 1
        if (outcome === 'failed') failed.push([row, String(reason)])
        if (reason !== undefined) terminal.note(`Line ${row.line}: ${reason}`, { line: row.line, outcome })
      } catch (thrown) {
        problem ??= thrown
      }
    }
    await Readable.from(file.rows).map(importRow, { concurrency: 5 }).toArray()
    if (problem !== undefined) throw problem
  }
  const client = { ...jobOptions, rateLimiter: new AdaptiveRateLimiter() }
  const ended: unknown = await withSession(terminal, flags, work, client).catch((thrown) => thrown)
  storage?.close()
  const written = failedPath && failed.length > 0 ? await writeNew(failedPath, file.withReasons(failed)) : failedPath
  const error = ended ?? problemOf(counts, state, written)
  const words = Object.entries(counts).map(([name, value]) => `${value} ${name}`)
  const text = `${dryRun ? 'It would be ' : ''}${words.join(', ')}`
  await terminal.show({ ...counts, dryRun }, text).catch((lost) => {
    throw error ?? lost
  })
  if (error !== undefined) throw error
}

/** Returns a function that creates the contact of a row, if that was not done before. */
async function prepare(
  session: Session,
  storage: SqliteStorage | undefined,
  { check, dryRun, confirmTimeout }: Flags,
  terminal: Terminal,
): Promise<(row: ContactRow) => Promise<Result>> {
  const { workspace } = session
  const { signal } = terminal.io
  if (!dryRun) await tellWho(session, terminal)
  const existing = new Set<string>()
  if (check) {
    for await (const { user } of workspace.contacts.list({ limit: 100 }, { signal })) {
      if (typeof user?.email === 'string') existing.add(user.email.trim().toLowerCase())
    }
  }
  const onCheck = ({ key, until }: WriteCheck) => {
    const wait = Math.ceil((until - Date.now()) / 1_000)
    terminal.say(`The import checks whether ${key} was created, for up to ${Math.max(0, wait)} s.`)
  }
  const options = { workspace, confirmTimeout: confirmTimeout * 1_000, onCheck }
  const journal = storage && new WriteJournal({ ...options, storage })
  const seen = new Set<string>()
  return async ({ email, fields }) => {
    if (email === '') return ['failed', 'The row has no address.']
    if (seen.has(email)) return ['repeated']
    seen.add(email)
    const key = `contact:${email}`
    // The list also has the contacts that an earlier run has created.
    if (existing.has(email) && (await journal?.get(key)) === undefined) return ['existed']
    const { email: address = '', name, ...extraBody } = fields
    const body = { email: address, ...(name !== undefined && { name }) }
    await journal?.once(key, ({ contacts }) => contacts.create(body, { extraBody, signal }))
    return ['created']
  }
}

/** Returns what an error says about its row. Throws an error that is about all of them. */
function resultOf(thrown: unknown): Result {
  // Without attempts, an earlier run has sent it.
  if (thrown instanceof UnconfirmedWriteError) return ['unconfirmed', thrown.message, thrown.attempts.length > 0]
  // An earlier run has created the contact from another row.
  if (thrown instanceof InvalidArgumentError && thrown.argument === 'write') return ['existed']
  const isOfRow = [UnprocessableError, BadRequestError, InvalidArgumentError].some((type) => thrown instanceof type)
  if (!isOfRow || thrown instanceof ActorSelfRequiredError) throw thrown
  return ['failed', (thrown as Error).message]
}

/** Returns the error for the counts of a finished import, if any. */
function problemOf({ unconfirmed, failed }: Counts, state: string, file: string | undefined): CommandError | undefined {
  if (unconfirmed > 0) {
    const hint = 'Check for them in the service, then resolve each.'
    const next = commandOf('journal', 'list', '--unconfirmed', '--state', state)
    return new CommandError(65, `${unconfirmed} contacts may have been created.`, hint, next)
  }
  if (failed === 0) return undefined
  const hint = file === undefined ? 'Run it again with --failed to get them.' : `Correct ${file}, and import it.`
  return new CommandError(70, `${failed} rows failed.`, hint)
}

/**
 * Writes a file. If there is one of that name, which may have been corrected by hand, it gets a number. Returns its
 * name.
 */
async function writeNew(path: string, text: string): Promise<string> {
  const { dir, name, ext } = parse(path)
  for (let number = 1; ; number += 1) {
    const file = number === 1 ? path : join(dir, `${name}-${number}${ext}`)
    try {
      await writeFile(file, text, { flag: 'wx', mode: 0o600 })
      return file
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    }
  }
}

async function openStorage(folder: string, terminal: Terminal): Promise<SqliteStorage> {
  requireSqlite('Imports and journals')
  const file = join(folder, 'journal.db')
  // A folder that is there keeps its modes: it might have more than the journal.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await makePrivate(file, 'file', terminal)
  // A folder that cannot be written to is found before a row is sent.
  await appendFile(file, '', { mode: 0o600 })
  return sqliteStorage(file)
}

async function withJournal(
  folder: string,
  terminal: Terminal,
  use: (journal: WriteJournal) => Promise<void>,
): Promise<void> {
  if (!existsSync(join(folder, 'journal.db'))) {
    throw new CommandError(3, `There is no journal in ${folder}.`, 'Pass the --state of the import.')
  }
  const storage = await openStorage(folder, terminal)
  try {
    // A journal sends nothing to list its records, but it wants a client.
    const workspace = new SupportWorkspace({ baseUrl: serviceUrl(terminal.io), accessToken: 'none' })
    await use(new WriteJournal({ workspace, storage }))
  } finally {
    storage.close()
  }
}
