import { type Command, Option } from '@commander-js/extra-typings'
import { operations } from '../client/index.ts'
import type { ListOptions, Method, Operation, OperationInput, Page, SupportWorkspace } from '../index.ts'
import { CommandError, programName, quoted, usage } from './errors.ts'
import { createFormatter, noteUnseen } from './format.ts'
import { describeIdentity } from './identity.ts'
import { checkBody, checkItemField, checkQuery, describeNames, operationAt } from './names.ts'
import { type BuiltIn, findKind, findOperation, operationList, pathOf } from './operations.ts'
import {
  addLayout,
  collectPairs,
  count,
  fieldsOption,
  formatOption,
  type OptionsOf,
  profileOption,
  undocumentedOption,
} from './options.ts'
import { type Session, withSession } from './session.ts'
import type { Terminal } from './terminal.ts'
import { readText } from './text-file.ts'
import { type Condition, readCondition } from './where.ts'

type Pairs = Readonly<Record<string, string>>

const queryOption = new Option('-q, --query <name=value>', 'query parameter; can be repeated')
  .argParser(collectPairs('-q'))
  .default({})

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

const withCallOptions = (command: Command) =>
  command
    .addOption(profileOption)
    .addOption(queryOption)
    .option('-f, --field <name=value>', 'field of the body, as a string; can be repeated', collectPairs('-f'), {})
    .option(
      '-F, --json-field <name=json>',
      'field of the body, as JSON; can be repeated',
      collectPairs('-F', (text) => parseJson(text)),
      {},
    )
    .option('--input <file>', 'the whole body as JSON; - reads stdin')
    .option('--dry-run', 'print the request of a write instead of sending it')
    .option('--yes', 'delete without a question')
    .addOption(undocumentedOption)

type ListFlags = OptionsOf<typeof declareList>
type CallFlags = Partial<OptionsOf<typeof withCallOptions>>

/** Adds `list`, `get`, `call` and `api`. */
export function addCalls(program: Command, terminal: Terminal): void {
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
  program
    .command('get')
    .description('get one item')
    .addOption(profileOption)
    .argument('<kind>', 'conversations, contacts, members, organization, tasks or segments')
    .argument('[ids...]', 'the id of the item')
    .addOption(queryOption)
    .action((kind, ids, flags) => callById(findKind(kind, 'get').id, ids, flags, terminal))
  withCallOptions(program.command('call'))
    .description('call an operation of the package')
    .argument('<operation>', 'its id, such as messages.create; with --help, its fields')
    .argument('[ids...]', 'the ids of its path, in their order')
    .addHelpText('after', () => helpOfCall(terminal.io.args))
    .action((id, ids, flags) => callById(id, ids, flags, terminal))
  withCallOptions(program.command('api'))
    .description('send a request to a path of the service')
    .argument('<method>', 'GET, POST, PUT, PATCH or DELETE', methodOf)
    .argument('<path>', 'such as /api/oauth/v1/contacts')
    .action((method, given, flags) => {
      const path = `/${pathFrom(given).replace(/^\//, '')}` as const
      const known = operationAt(method, path)
      return call({ id: `${method} ${path}`, method, path, envelope: 'any' }, {}, flags, terminal, known)
    })
}

/** Describes the operation that stands before `--help`, or lists all of them. */
function helpOfCall(args: readonly string[]): string {
  const id = args.find((each) => operations.some((operation) => operation.id === each))
  return id === undefined ? `\nOperations:\n${operationList()}` : describeNames(id)
}

function pathFrom(text: string): string {
  const [, rewritten] = /^[a-z]:[\\/].*?[\\/](api[\\/].*)$/i.exec(text) ?? []
  if (rewritten !== undefined) {
    const path = rewritten.replaceAll('\\', '/')
    throw usage(
      'The shell has made the path a path of Windows, as Git Bash does.',
      `Pass it without its first /: ${path}`,
    )
  }
  if (/^([a-z][a-z\d+.-]*:|\/\/)/i.test(text))
    throw usage('The path is a whole address.', 'Pass what follows the host.')
  const [path = '', query] = text.split('?', 2)
  if (query === undefined) return text
  const options = [...new URLSearchParams(query)].map(([name, value]) => `-q ${quoted(`${name}=${value}`)}`)
  throw usage('The path has a query.', `Pass it as options: ${[path, ...options].join(' ')}`)
}

function methodOf(text: string): Method {
  const method = methods.find((each) => each === text.toUpperCase())
  if (method !== undefined) return method
  throw usage(`${text} is not a method.`, `Use ${methods.join(', ')}.`)
}

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** What `list` was asked for. */
interface Listing {
  readonly operation: BuiltIn
  readonly input: OperationInput
  readonly kind: string
  readonly conditions: readonly Condition[]
  readonly flags: ListFlags
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
    members.flatMap(({ id, user }) => {
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

/** Leaves the schemas out: the service decides, and nothing of a response is lost. */
function bare<Definition extends Operation>({ body, response, ...operation }: Operation): Definition {
  return operation as Definition
}

function callById(id: string, ids: readonly string[], flags: CallFlags, terminal: Terminal): Promise<void> {
  const operation = findOperation(id)
  return call(operation, pathOf(operation, ids), flags, terminal)
}

async function call(
  operation: Operation,
  path: Pairs,
  flags: CallFlags,
  terminal: Terminal,
  knownId: string | undefined = operation.id,
): Promise<void> {
  const { method } = operation
  const { query = {} } = flags
  const body = await readBody(flags, terminal)
  if (knownId !== undefined) {
    checkQuery(knownId, query, flags.undocumented, terminal)
    checkBody(knownId, body, flags.undocumented)
  }
  const input: OperationInput = { path, query, ...(body !== undefined && { body }) }
  if (flags.dryRun && method !== 'GET') {
    const url = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''))
    return terminal.print(`${JSON.stringify({ method, path: url, query, body })}\n`)
  }
  if (method === 'DELETE')
    await terminal.confirm(`Delete with ${[operation.id, ...Object.values(path)].join(' ')}?`, flags.yes)
  await withSession(terminal, flags, async (session) => {
    const { workspace } = session
    if (method !== 'GET') await tellWho(session, terminal)
    const { signal, stdout } = terminal.io
    const calling = workspace.call<Operation>(bare(operation), input, { signal })
    const result: unknown = await calling.catch((thrown: unknown) => {
      if (method === 'GET' || !signal.aborted) throw thrown
      throw new CommandError(65, 'Interrupted. The write may have been applied.', 'Check before you repeat it.')
    })
    if (result === undefined) return
    const text = JSON.stringify(result, null, stdout.isTTY && !terminal.json ? 2 : undefined)
    await terminal.print(`${text}\n`, method === 'GET' ? undefined : 'The write was applied')
  })
}

/** Tells on stderr whose data is written, and as whom. */
export async function tellWho(session: Session, terminal: Terminal): Promise<void> {
  const identity = await session.identify()
  const { organization, actor } = identity
  terminal.note(`Writing to ${describeIdentity(identity)}.`, { organization, actor })
}

async function readBody({ field = {}, jsonField = {}, input }: CallFlags, terminal: Terminal): Promise<unknown> {
  const twice = Object.keys(jsonField).find((name) => Object.hasOwn(field, name))
  if (twice !== undefined) throw usage(`-f and -F both have ${twice}.`, 'Pass it once.')
  const fields = { ...field, ...jsonField }
  const hasFields = Object.keys(fields).length > 0
  if (input === undefined) return hasFields ? fields : undefined
  if (hasFields) throw usage('--input is the whole body.', 'Leave -f and -F out.')
  return parseJson(await readText(input, terminal), '--input')
}

function parseJson(text: string, flag = '-F'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const hint =
      flag === '-F' ? 'A string has double quotes: -F name=\'"text"\', or use -f.' : 'Check its brackets and quotes.'
    throw usage(`${flag} is not JSON.`, hint)
  }
}
