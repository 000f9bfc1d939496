import type { Command } from '@commander-js/extra-typings'
import type { ListOptions, Operation, OperationInput, Page, SupportWorkspace } from '../index.ts'
import { isDeeperThan, isObject } from '../shared/json.ts'
import { CommandError, lostOutput, programName, quoted, usage } from './errors.ts'
import { type BuiltIn, findKind, pathOf } from './find-operation.ts'
import { createFormatter, noteUnseen } from './format.ts'
import { checkItemField, checkQuery } from './names.ts'
import {
  addLayout,
  count,
  fieldsOption,
  formatOption,
  type OptionsOf,
  profileOption,
  queryOption,
  undocumentedOption,
} from './options.ts'
import { type Session, withSession } from './session.ts'
import type { Terminal } from './terminal.ts'
import { type Condition, readCondition } from './where.ts'

const whereHelp = `
A condition of --where is FIELD=VALUE, FIELD!=VALUE, FIELD<VALUE or FIELD>VALUE.
Put it in quotes, because < and > belong to the shell. Several mean "and". A
field of an object has a dot, an empty value means null, and a date is compared
with times. The documents of the service have no filters, so the command filters
what it reads. For example, open conversations without a message since a day:

  ${programName} list conversations --all \\
    --where 'status=open' --where 'last_message_inserted_at<2026-11-19'
`

const declareList = (program: Command) =>
  addLayout(program.command('list'))
    .description('list items, by default 100 of them')
    .addOption(profileOption)
    .argument('<kind>', 'conversations, messages, notes, contacts, members, tasks or segments')
    .argument('[ids...]', 'the id of the conversation, for messages and notes')
    .addOption(queryOption)
    .option(
      '--where <condition>',
      'filter what is read; can be repeated, see below',
      (text, before: readonly ReturnType<typeof readCondition>[]) => [...before, readCondition(text)],
      [],
    )
    .option('--limit <number>', 'number of items of a page', count)
    .option('--max <number>', 'number of items in all', count)
    .option('--all', 'every item')
    .option('--after <cursor>', 'start after this cursor')
    .addOption(formatOption('table', 'ndjson', 'json', 'csv'))
    .addOption(fieldsOption)
    .addOption(undocumentedOption)
    .addHelpText('after', whereHelp)

type Flags = OptionsOf<typeof declareList>

/** Adds `list`. */
export function addList(program: Command, terminal: Terminal): void {
  declareList(program).action((kind, ids, flags) => {
    const operation = findKind(kind, 'list')
    const own = ['limit', 'after'].find((name) => Object.hasOwn(flags.query, name))
    if (own !== undefined) throw usage(`-q has ${own}.`, `Pass it as --${own}.`)
    checkQuery(operation.id, flags.query, flags.undocumented, terminal)
    const conditions = flags.where.map((create) => create(flags.utc))
    if (!flags.undocumented) for (const { field } of conditions) checkItemField(kind, field)
    const query = { ...flags.query, ...(flags.after !== undefined && { after: flags.after }) }
    const input = { path: pathOf(operation, ids), query }
    const list: Listing = { operation, input, kind, conditions, flags }
    return withSession(terminal, flags, (session) => listItems(session, list, terminal))
  })
}

/** What `list` was asked for. */
interface Listing {
  readonly operation: BuiltIn
  readonly input: OperationInput
  readonly kind: string
  readonly conditions: readonly Condition[]
  readonly flags: Flags
}

/** Number of items that `list` prints unless it is told another one. */
const usualNumber = 100

async function listItems({ workspace }: Session, list: Listing, terminal: Terminal): Promise<void> {
  const { operation, kind, conditions, flags } = list
  const { stdout, signal } = terminal.io
  const most = flags.max ?? (flags.all ? Number.POSITIVE_INFINITY : usualNumber)
  const limit = Math.min(flags.limit ?? usualNumber, conditions.length > 0 ? usualNumber : most)
  const format = flags.format ?? (stdout.isTTY && !terminal.json ? 'table' : 'ndjson')
  const isWithAssignees = format === 'table' && kind === 'conversations' && flags.fields === undefined
  const settings = {
    ...(stdout.isTTY && { width: stdout.columns || 80 }),
    ...(isWithAssignees && { names: await namesOfMembers(workspace, signal) }),
  }
  const print = createFormatter(format, kind, flags, settings)
  let [left, read, matched] = [most, 0, 0]
  const input = { ...list.input, query: { ...list.input.query, limit } }
  for await (const { data, after } of listPages(workspace, operation, input, { signal })) {
    if (!data.every(isObject)) {
      throw new CommandError(70, 'The service sent an item that is no object.', 'Report it to the service.')
    }
    checkDepth(data)
    if (read === 0 && data.length > 0) noteUnseen(flags, data, terminal)
    read += data.length
    const matching = data.filter((item) => conditions.every((condition) => condition.matches(item)))
    const shown = matching.slice(0, left)
    await terminal.print(print(shown))
    matched += shown.length
    left -= matching.length
    if (left > 0) continue
    const stopped = `Stopped after ${most} items`
    if (left < 0)
      terminal.note(`${stopped}, in the middle of a page, so there is no cursor. Pass --max or --all for more.`)
    else if (after !== null) terminal.note(`${stopped}. Go on with --after ${quoted(after)}, or pass --all.`, { after })
    break
  }
  if (conditions.length > 0) {
    const text = `${matched} of the ${read} ${kind} that were read match --where. The service does not filter.`
    terminal.note(text, { matched, read })
  }
  await terminal.print(print(undefined))
}

/** Returns the names of the team's members by their ids. Without the scope for it, ids stay ids. */
async function namesOfMembers(workspace: SupportWorkspace, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const members = await workspace.members
    .list({ limit: 100 }, { signal, maxRetries: 0 })
    .toArray()
    .catch(() => {
      signal.throwIfAborted()
      return []
    })
  return new Map(
    members.filter(isObject).flatMap(({ id, user }) => {
      const name = user?.name ?? user?.email
      return typeof name === 'string' ? [[id, name] as const, [user?.id ?? id, name] as const] : []
    }),
  )
}

/** Reads a list page by page, as the service sends it. */
export function listPages(
  workspace: SupportWorkspace,
  operation: Operation,
  input: OperationInput,
  options: ListOptions,
): AsyncIterable<Page<unknown>> {
  const list: Operation & { readonly envelope: 'list' } = bare(operation)
  return workspace.call<typeof list>(list, input, options).pages()
}

/**
 * Throws if a value of the service is nested too deep to be printed.
 *
 * @param effect what the service has done, which the error then says
 */
export function checkDepth(value: unknown, effect?: string): void {
  if (!isDeeperThan(100, value)) return
  const problem = 'more than 100 levels of arrays and objects'
  if (effect !== undefined) throw lostOutput(new Error(problem), effect)
  throw new CommandError(70, `The service sent ${problem}.`, 'Report it to the service.')
}

/** Leaves the schemas out: the service decides, and nothing of a response is lost. */
export function bare<Definition extends Operation>({ body, response, ...operation }: Operation): Definition {
  return operation as Definition
}
