import { existsSync } from 'node:fs'
import { access, constants, writeFile } from 'node:fs/promises'
import { dirname, join, parse } from 'node:path'
import { Readable } from 'node:stream'
import { Argument, type Command, InvalidArgumentError as InvalidFlagError } from '@commander-js/extra-typings'
import {
  ActorSelfRequiredError,
  AdaptiveRateLimiter,
  ApiError,
  InsufficientScopeError,
  InvalidArgumentError,
  jobOptions,
  SupportWorkspace,
} from '../index.ts'
import { UnconfirmedWriteError, type WriteCheck, WriteJournal } from '../journal/index.ts'
import { type SqliteStorage, sqliteStorage } from '../storage/index.ts'
import { tellWho } from './call.ts'
import { type ContactRow, type FailedRow, readContacts } from './contact-file.ts'
import { CommandError, commandOf, describeFailure, usage } from './errors.ts'
import { showRows, valueAt } from './format.ts'
import { checkBody } from './names.ts'
import { collectPairs, type OptionsOf, pathName, profileOption, undocumentedOption } from './options.ts'
import { createFolder, makePrivate, openOwn, requireSqlite } from './private-files.ts'
import { type Session, serviceUrl, withSession } from './session.ts'
import { oneLine, type Terminal } from './terminal.ts'
import { readText } from './text-file.ts'

const stateOption = ['--state <folder>', 'the folder of the write journal', pathName] as const

const mapHelp = `
The file has a header. Its cells are between , or ; or tabs, in UTF-8. Columns
that are called email and name are read. Say with --map what the others are:

  --map 'E-Mail=email'   the column E-Mail is the field email
  --map 'Phone='         the column Phone is left out
  --map '*='             all other columns are left out
  --map '#3='            the third column, for one without a name
`

const declareImport = (program: Command) =>
  program
    .command('import')
    .description('create what a file has, once')
    .command('contacts')
    .addOption(profileOption)
    .description('create the contacts of a CSV file; run the same command again to go on after an interruption')
    .argument('<file>', 'CSV with the columns email and name', pathName)
    .option('--state <folder>', 'the folder of the write journal (required without --dry-run)', pathName)
    .option(
      '--map <column=field>',
      'what another column is; can be repeated, see below',
      collectPairs('--map', undefined, 'lastIndexOf'),
      {},
    )
    .option('--no-check', 'do not read the contacts that exist')
    .option('--failed <file>', 'write the rows that failed, with why, to a new file')
    .option('--skip-broken', 'import the other rows of a file with broken rows')
    .option('--dry-run', 'send nothing, and tell what would be created')
    .addOption(undocumentedOption)
    .option('--confirm-timeout <seconds>', 'how long to look for a contact whose response was lost', seconds, 30)
    .addHelpText('after', mapHelp)

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
        const entries = await journal.list(flags.unconfirmed ? { state: 'unconfirmed' } : {})
        const rows = entries.map((entry) => {
          const sent = new Date(entry.sentAt).toISOString()
          return { value: { ...entry, sent }, cells: [entry.state, entry.key, entry.operation, sent] }
        })
        await showRows(['state', 'key', 'operation', 'sent'], rows, terminal)
      }),
    )
  journal
    .command('resolve')
    // Commander's own words would be wider than 80 columns.
    .usage('[options] KEY OUTCOME')
    .description('record whether an unconfirmed write was applied')
    .argument('<key>', 'the key, as journal list prints it')
    .addArgument(
      new Argument('<outcome>', 'applied, or absent to send it again').choices(['applied', 'absent'] as const),
    )
    .requiredOption(...stateOption)
    .action((key, outcome, flags) =>
      withJournal(flags.state, terminal, async (journal) => {
        await journal.resolve(key, outcome)
        const text =
          outcome === 'applied' ? 'The next import counts it as created before.' : 'The next import sends it again.'
        await terminal.show({ key, outcome }, `${key} is ${outcome}. ${text}`)
      }),
    )
}

function seconds(text: string): number {
  if (/^\d{1,6}(\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidFlagError('Pass seconds, for example 30.')
}

type Counts = Readonly<Record<Outcome, number>>
type Outcome = 'created' | 'createdBefore' | 'existed' | 'repeated' | 'failed' | 'unconfirmed'

/** How the counts are called. All but \`createdBefore\` are of this run. */
const outcomes: Readonly<Record<Outcome, string>> = {
  created: 'created',
  createdBefore: 'created by an earlier run',
  existed: 'existed',
  repeated: 'repeated',
  failed: 'failed',
  unconfirmed: 'unconfirmed',
}

type Result = readonly [outcome: Outcome, reason?: string, isLost?: boolean]

/** The number of writes without an answer after which the service is most likely down. */
const mostUnconfirmed = 5

async function importContacts(path: string, flags: Flags, terminal: Terminal): Promise<void> {
  const { dryRun = false, failed: failedPath } = flags
  const state = flags.state ?? ''
  if (state === '' && !dryRun)
    throw usage('An import needs --state.', 'Pass a folder for its write journal, such as --state import-state.')
  const file = readContacts(await readText(path, terminal), flags.map, flags.skipBroken)
  const body = Object.fromEntries(file.fields.map((field) => [field, '']))
  checkBody('contacts.create', body, flags.undocumented, '--map')
  // Before the rows are sent whose failures it is for.
  if (failedPath === '' || failedPath === '-') throw usage('--failed is no name of a file.', 'Name a file.')
  if (failedPath !== undefined) await access(`${dirname(failedPath)}/`, constants.W_OK)
  const counts = { created: 0, createdBefore: 0, existed: 0, repeated: 0, failed: 0, unconfirmed: 0 }
  const failed: FailedRow[] = file.broken.map((row) => [row, row.reason])
  const notCreated: { line: number; email: string; outcome: Outcome }[] = []
  counts.failed = failed.length
  for (const { line, reason } of file.broken) terminal.note(`Line ${line}: ${reason}`, { line, outcome: 'failed' })
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
        if (outcome === 'existed' || outcome === 'repeated')
          notCreated.push({ line: row.line, email: row.email, outcome })
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
  terminal.status('')
  for (const { line, email, outcome } of notCreated.sort((one, other) => one.line - other.line)) {
    const why = outcome === 'existed' ? 'was there before' : 'stands in the file above'
    terminal.note(`Line ${line}: ${oneLine(email)} ${why}.`, { line, email, outcome })
  }
  const written = failedPath && failed.length > 0 ? await writeNew(failedPath, file.withReasons(failed)) : failedPath
  const error = ended ?? problemOf(counts, state, written)
  const words = Object.entries(counts).map(([name, value]) => `${value} ${outcomes[name as Outcome]}`)
  const text = `${dryRun ? 'It would be ' : ''}${words.join(', ')}`
  const effect =
    counts.created > 0
      ? `${counts.created === 1 ? '1 contact was' : `${counts.created} contacts were`} created`
      : undefined
  await terminal.show({ ...counts, dryRun }, text, effect).catch((lost) => {
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
    for await (const contact of workspace.contacts.list({ limit: 100 }, { signal })) {
      const email = valueAt(contact, 'user.email')
      if (typeof email === 'string') existing.add(email.trim().toLowerCase())
    }
  }
  const checks = new Map<string, number>()
  const countDown = () => {
    const waits = [...checks.values()].map((until) => Math.ceil((until - Date.now()) / 1_000))
    const wait = Math.max(0, ...waits)
    const what = checks.size === 1 ? [...checks.keys()][0] : `${checks.size} contacts`
    terminal.status(wait === 0 ? '' : `The import checks whether ${what} was created, for up to ${wait} s.`)
  }
  const onCheck = ({ key, until }: WriteCheck) => {
    const wait = Math.max(0, Math.ceil((until - Date.now()) / 1_000))
    if (!terminal.canRewrite && !checks.has(key))
      terminal.say(`The import checks whether ${key} was created${wait === 0 ? '' : `, for up to ${wait} s`}.`)
    checks.set(key, until)
    countDown()
  }
  const options = { workspace, confirmTimeout: confirmTimeout * 1_000, onCheck, logger: terminal.logger }
  const journal = storage && new WriteJournal({ ...options, storage })
  const seen = new Set<string>()
  return async ({ email, fields }) => {
    if (email === '') return ['failed', 'The row has no address.']
    if (seen.has(email)) return ['repeated']
    seen.add(email)
    const key = `contact:${email}`
    // The list also has the contacts that an earlier run has created.
    if (existing.has(email) && (await journal?.get(key)) === undefined) return ['existed']
    if (journal === undefined) return ['created']
    const { email: address = '', name, ...extraBody } = fields
    const body = { email: address, ...(name !== undefined && { name }) }
    const isDone = (await journal.get(key))?.state === 'applied'
    const timer = setInterval(countDown, 1_000)
    await journal
      .once(key, ({ contacts }) => contacts.create(body, { extraBody, signal }))
      .finally(() => {
        clearInterval(timer)
        checks.delete(key)
      })
    return [isDone ? 'createdBefore' : 'created']
  }
}

/** The statuses below 500 that are about the token, the service or the rate. */
const statusesOfAll = [401, 404, 408, 429]

/** Returns what an error says about its row. Throws an error that is about all of them. */
function resultOf(thrown: unknown): Result {
  // Without attempts, an earlier run has sent it.
  if (thrown instanceof UnconfirmedWriteError)
    return ['unconfirmed', describeFailure(thrown, []).message, thrown.attempts.length > 0]
  // An earlier run has created the contact from another row.
  if (thrown instanceof InvalidArgumentError && thrown.argument === 'write') return ['existed']
  const isOfToken = [ActorSelfRequiredError, InsufficientScopeError].some((type) => thrown instanceof type)
  const isOfRow = thrown instanceof ApiError && thrown.status < 500 && !statusesOfAll.includes(thrown.status)
  if (isOfToken || !(isOfRow || thrown instanceof InvalidArgumentError)) throw thrown
  return ['failed', describeFailure(thrown, []).message]
}

/** Returns the error for the counts of a finished import, if any. */
function problemOf({ unconfirmed, failed }: Counts, state: string, file: string | undefined): CommandError | undefined {
  if (unconfirmed > 0) {
    const hint = 'Check for them in the service, then resolve each with journal resolve.'
    const next = commandOf('journal', 'list', '--unconfirmed', '--state', state)
    const what = unconfirmed === 1 ? '1 contact' : `${unconfirmed} contacts`
    return new CommandError(65, `${what} may have been created.`, hint, next)
  }
  if (failed === 0) return undefined
  const hint = file === undefined ? 'Run it again with --failed to get them.' : `Correct ${file}, and import it.`
  return new CommandError(70, failed === 1 ? '1 row failed.' : `${failed} rows failed.`, hint)
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
  await createFolder(folder)
  await makePrivate(file, 'file', terminal)
  // A folder that cannot be written to is found before a row is sent.
  const handle = await writeFile(file, '', { flag: 'wx', mode: 0o600 })
    .catch((thrown: NodeJS.ErrnoException) => (thrown.code === 'EEXIST' ? undefined : Promise.reject(thrown)))
    .then(() => openOwn(file, 'r+'))
  await handle.close()
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
    await use(new WriteJournal({ workspace, storage, logger: terminal.logger }))
  } finally {
    storage.close()
  }
}
