import { extname } from 'node:path'
import { Readable } from 'node:stream'
import type { Command } from '@commander-js/extra-typings'
import yoctoSpinner from 'yocto-spinner'
import {
  AdaptiveRateLimiter,
  ApiError,
  type Checkpoint,
  CursorRejectedError,
  InsufficientScopeError,
  InvalidArgumentError,
  jobOptions,
  NotFoundError,
  type SupportWorkspace,
  UnexpectedResponseError,
} from '../index.ts'
import { isObject } from '../shared/json.ts'
import { CommandError, describeFailure, usage } from './errors.ts'
import { checkpointOf, ExportFiles, failedOf, type Sink } from './export-files.ts'
import { type BuiltIn, findKind } from './find-operation.ts'
import { cellsOf, csvStart, knownFields, noteUnseen, pick, toCsv } from './format.ts'
import { checkDepth, listPages } from './list.ts'
import {
  addLayout,
  count,
  fieldsOption,
  formatOption,
  namesOf,
  type OptionsOf,
  pathName,
  profileOption,
} from './options.ts'
import { type Session, withSession } from './session.ts'
import { oneLine, type Terminal } from './terminal.ts'

type Part = 'messages' | 'notes'
type Row = Readonly<Record<string, unknown>>

const declareExport = (program: Command) =>
  addLayout(program.command('export'))
    .description('write every item to a file; run the same command again to go on after an interruption')
    .addOption(profileOption)
    .argument('<kind>', 'conversations, contacts, members, tasks or segments')
    .option('--with <parts>', 'messages, notes or both of each conversation', namesOf)
    .option('--out <file>', 'the file; .csv makes CSV (default: -, which is stdout)', pathName)
    .option('--limit <number>', 'number of items of a page', count, 100)
    .option('--no-progress', 'no status line')
    .addOption(formatOption('ndjson', 'csv'))
    .addOption(fieldsOption)
    .addHelpText('after', outHelp)

type Flags = OptionsOf<typeof declareExport>

const outHelp = `
Run the same command again after an interruption: it goes on where it was. An
item that cannot be read goes to FILE.failed, and the next run tries it again.
A complete file stays as it is.

CSV has a file for each kind: --out all.csv --with messages also writes
all.messages.csv.
`

/** Adds `export`, which a kill at any moment only delays. */
export function addExport(program: Command, terminal: Terminal): void {
  declareExport(program).action((kind, flags) => {
    const { out, ...others } = flags
    const job = planExport(kind, out === '-' ? others : flags)
    const client = { ...jobOptions, rateLimiter: new AdaptiveRateLimiter() }
    return withSession(terminal, flags, (session) => runExport(job, session, terminal), client)
  })
}

/** A checked export. */
interface Job {
  readonly kind: string
  readonly operation: BuiltIn
  readonly parts: readonly Part[]
  /** The columns of each file; undefined for NDJSON. */
  readonly columns: readonly (readonly string[])[] | undefined
  readonly flags: Flags
}

function planExport(kind: string, flags: Flags): Job {
  if (kind === 'messages' || kind === 'notes')
    throw usage(`${kind} belong to a conversation.`, `Export conversations --with ${kind}.`)
  const operation = findKind(kind, 'list', ({ path }) => !path.includes('{'))
  const extension = extname(flags.out ?? '').toLowerCase()
  if (/^\.(xlsx?|ods)$/.test(extension) && flags.format === undefined)
    throw usage(
      `${extension} is the format of a spreadsheet, which is not written.`,
      'Pass --out with the extension .csv.',
    )
  const { format = extension === '.csv' ? 'csv' : 'ndjson', fields, out, with: parts = [] } = flags
  const wrong = parts.find((part) => kind !== 'conversations' || (part !== 'messages' && part !== 'notes'))
  if (wrong !== undefined) throw usage(`${kind} have no ${wrong} to export.`, 'Conversations have messages and notes.')
  if (fields !== undefined && !fields.includes('id')) throw usage('--fields lacks id.', 'The next run needs it.')
  if (format === 'csv' && parts.length > 0 && out === undefined)
    throw usage('CSV has a file for each kind.', 'Pass --out.')
  const own = fields ?? knownFields[kind]
  if (format === 'csv' && own === undefined)
    throw usage(`The fields of ${kind} are not known.`, 'Name them with --fields.')
  const others = parts.map((part) => [
    'conversation_id',
    ...(knownFields[part] ?? []).filter((name) => name !== 'conversation_id'),
  ])
  const columns = format === 'csv' ? [own ?? [], ...others] : undefined
  return { kind, operation, parts: parts as Part[], columns, flags }
}

async function runExport(job: Job, session: Session, terminal: Terminal): Promise<void> {
  const { kind, parts, columns, flags } = job
  const { out, fields, raw, bom, delimiter, dates, utc } = flags
  const { io } = terminal
  if (out === undefined) {
    const sink = toStdout(terminal)
    await copy(job, session, sink, [], terminal)
    throwFailed(sink.failed, undefined)
    return
  }
  const { organization } = await session.identify()
  const layout = { raw, bom, delimiter, dates, utc }
  const options = JSON.stringify([kind, parts, columns, fields, layout, session.origin.baseUrl, organization.id])
  const extension = extname(out)
  const stem = out.slice(0, out.length - extension.length)
  const paths = [out, ...(columns === undefined ? [] : parts.map((part) => `${stem}.${part}${extension}`))]
  await using files = await ExportFiles.open(paths, options)
  try {
    if (files.isComplete)
      return terminal.note(
        `${out} is complete. To export again, choose another file, or remove ${inWords([...paths, checkpointOf(paths)])}.`,
      )
    const written = await Array.fromAsync(files.ids(columns !== undefined, delimiter === 'tab' ? '\t' : delimiter))
    const total = await copy(job, session, files, written, terminal)
    const others = parts.flatMap((part, index) => (columns === undefined ? [] : [`${paths[index + 1]} their ${part}`]))
    terminal.note(`${inWords([`${out} has ${total} ${kind}`, ...others])}.`, { out, total })
    throwFailed(files.failed, failedOf(paths))
  } catch (thrown) {
    if (io.signal.aborted) terminal.note(`${checkpointOf(paths)} has how far it came.`)
    throw thrown
  }
}

function inWords(parts: readonly string[]): string {
  return new Intl.ListFormat('en').format(parts)
}

function toStdout(terminal: Terminal): Sink {
  const start = { cursor: null, done: false }
  return {
    start,
    isEmpty: true,
    failed: new Map(),
    append: ([text = '']) => terminal.print(text),
    save: async () => {},
  }
}

/**
 * Copies the list from where it was left. Returns the number of rows in all.
 *
 * @param written the ids of the rows that earlier runs have written, in their order
 */
async function copy(
  job: Job,
  { workspace }: Session,
  sink: Sink,
  written: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const { kind, operation, flags, columns } = job
  const { signal } = terminal.io
  const known = new Set(written)
  using status = createStatus(kind, flags.progress, terminal)
  let pages = 0
  if (columns !== undefined && sink.isEmpty) await sink.append(columns.map((names) => csvStart(names, flags)))
  const readRow = createReader(workspace, job, sink, terminal)
  const write = async (items: readonly Row[]) => {
    const rows: Row[] = await Readable.from(items).flatMap(readRow, { concurrency: 5 }).toArray()
    await sink.append(textsOf(rows, job))
    for (const { id } of rows) {
      known.add(String(id))
      sink.failed.delete(String(id))
    }
  }
  // A run that was killed between two steps can have written some of them.
  const again = [...sink.failed.values()]
  for (const { id } of again) if (known.has(id)) sink.failed.delete(id)
  if (again.length > 0) {
    await write([...sink.failed.values()].map(({ item }) => item))
    await sink.save(sink.start)
  }
  if (sink.start.done) return known.size
  // From the start, the list must begin with what is written.
  const copyFrom = async (resumeFrom: Checkpoint, expected: readonly string[]) => {
    const left = [...expected].reverse()
    const pageQuery = { query: { limit: flags.limit } }
    for await (const { data, checkpoint } of listPages(workspace, operation, pageQuery, { resumeFrom, signal })) {
      const items = data.filter((item): item is Row => isObject(item) && /^(string|number)$/.test(typeof item.id))
      if (items.length < data.length)
        throw new CommandError(70, 'The service sent an item without an id.', 'Without ids, an export cannot go on.')
      for (const { id } of items.splice(0, left.length)) if (left.pop() !== id) throw changed(flags.out)
      const fresh = new Map(items.map((item) => [String(item.id), item]))
      for (const id of fresh.keys()) if (known.has(id)) fresh.delete(id)
      if (known.size === 0 && items.length > 0) noteUnseen(flags, items, terminal)
      await write([...fresh.values()])
      if (left.length === 0) await sink.save(checkpoint)
      pages += 1
      status.update(known.size, pages)
    }
    if (left.length > 0) throw changed(flags.out)
  }
  try {
    await copyFrom(sink.start, [])
  } catch (thrown) {
    if (!(thrown instanceof CursorRejectedError) || sink.start.cursor === null) throw thrown
    terminal.note('The service no longer accepts the cursor. The list is read from its start again.')
    await copyFrom({ cursor: null, done: false }, [...known])
  }
  return known.size
}

function changed(out: string | undefined): CommandError {
  const hint = `${out} was left as it is. Export to another file.`
  return new CommandError(70, 'The list no longer begins with what was exported, and its cursor was refused.', hint)
}

/** Number of items in a row that fail before the export ends, because something is wrong with all of them. */
const mostFailures = 5

/**
 * Returns a function that reads a conversation with its messages and notes. It returns nothing if the conversation was
 * removed since its page was read, and if it cannot be read. That one is noted in `failed`, and the others go on.
 */
function createReader(workspace: SupportWorkspace, { parts }: Job, { failed }: Sink, terminal: Terminal) {
  const { signal } = terminal.io
  let inRow = 0
  return async (item: Row): Promise<Row[]> => {
    const id = String(item.id)
    // The file of failed items could not hold it either.
    checkDepth(item)
    const lists = parts.map(async (part) => [
      part,
      await workspace[part].list(id, { limit: 100 }, { signal }).toArray(),
    ])
    try {
      const row = { ...item, ...Object.fromEntries(await Promise.all(lists)) }
      checkDepth(row)
      inRow = 0
      return [row]
    } catch (caught) {
      const thrown =
        caught instanceof InvalidArgumentError
          ? new CommandError(70, 'The service sent an id that no path can have.', 'Report it to the service.')
          : caught
      if (thrown instanceof NotFoundError && !(await isThere(id, workspace, signal))) {
        terminal.note(`The conversation ${oneLine(id)} was removed during the export.`, { id })
        failed.delete(id)
        return []
      }
      inRow += 1
      if (isOfAll(thrown) || inRow >= mostFailures) throw thrown
      const { message: reason, exitCode } = describeFailure(thrown, [])
      failed.set(id, { id, reason, isLater: exitCode === 75, item })
      terminal.note(`The conversation ${oneLine(id)} could not be read. ${reason}`, { id, reason })
      return []
    }
  }
}

/** Whether an error is about the token, the rate or the network, and not about one item. */
function isOfAll(thrown: unknown): boolean {
  // An interruption is one as well.
  if (thrown instanceof CommandError) return thrown.exitCode !== 70
  if (thrown instanceof UnexpectedResponseError) return false
  if (!(thrown instanceof ApiError) || thrown instanceof InsufficientScopeError) return true
  return thrown.status === 401 || thrown.status === 429
}

/** Ends an export that has left items out. */
function throwFailed(failed: Sink['failed'], file: string | undefined): void {
  if (failed.size === 0) return
  const isLater = [...failed.values()].some((each) => each.isLater)
  const where = file === undefined ? 'Export with --out to keep them for another run.' : `They are in ${file}.`
  const again = file === undefined ? '' : ' Run the same command again to try them again.'
  const what = failed.size === 1 ? '1 item' : `${failed.size} items`
  throw new CommandError(isLater ? 75 : 70, `${what} could not be read.`, `${where}${again}`)
}

/** Whether one of two requests finds a conversation. The path of its messages is documented, so that a 404 is about it. */
async function isThere(id: string, workspace: SupportWorkspace, signal: AbortSignal): Promise<boolean> {
  const found = await Promise.allSettled([
    workspace.messages.list(id, { limit: 1 }, { signal }),
    workspace.conversations.get(id, { signal }),
  ])
  return found.some((each) => each.status === 'fulfilled' || !(each.reason instanceof NotFoundError))
}

/** Returns the text of the rows for each file. */
function textsOf(rows: readonly Row[], { parts, columns, flags }: Job): string[] {
  if (columns === undefined) {
    const { fields } = flags
    const kept = (row: Row) => (fields === undefined ? row : pick(row, [...fields, ...parts]))
    return [rows.map((row) => `${JSON.stringify(kept(row))}\n`).join('')]
  }
  return columns.map((names, index) => {
    const part = parts[index - 1]
    const items =
      part === undefined
        ? rows
        : rows.flatMap((row) => (row[part] as Row[]).map((item) => ({ ...item, conversation_id: row.id })))
    const cells = items.map((item) => cellsOf(item, names, flags))
    return toCsv(cells, flags)
  })
}

/**
 * Creates the line that shows how far the export is. A progress bar is not possible, because the service does not tell
 * the total of a list.
 */
function createStatus(kind: string, isWanted: boolean, { io: { stderr }, canRewrite }: Terminal) {
  if (!isWanted || !canRewrite) return { update: () => {}, [Symbol.dispose]: () => {} }
  const startedAt = performance.now()
  const spinner = yoctoSpinner({ text: kind, stream: stderr as NodeJS.WriteStream, handleSignals: false }).start()
  return {
    update(items: number, pages: number) {
      const rate = Math.round(items / Math.max(1, (performance.now() - startedAt) / 1_000))
      spinner.text = `${items} ${kind}, ${pages} ${pages === 1 ? 'page' : 'pages'}, ${rate}/s`
    },
    [Symbol.dispose]: () => void spinner.stop(),
  }
}
