import { type Command, Option } from '@commander-js/extra-typings'
import type { ListOptions, Method, Operation, OperationInput, Page, SupportWorkspace } from '../index.ts'
import { CommandError, usage } from './errors.ts'
import { createFormatter, noteUnseen } from './format.ts'
import { describeIdentity } from './identity.ts'
import { findOperation, operationList, pathOf } from './operations.ts'
import { collectPairs, count, fieldsOption, formatOption, type OptionsOf, profileOption, rawOption } from './options.ts'
import { readBytes } from './private-files.ts'
import { type Session, withSession } from './session.ts'
import type { Terminal } from './terminal.ts'

type Pairs = Readonly<Record<string, string>>

const queryOption = new Option('-q, --query <name=value>', 'query parameter; can be repeated')
  .argParser(collectPairs('-q'))
  .default({})

const declareList = (program: Command) =>
  program
    .command('list')
    .description('list items, by default 100 of them unless in a terminal')
    .addOption(profileOption)
    .argument('<kind>', 'conversations, messages, notes, contacts, members, tasks or segments')
    .argument('[ids...]', 'the id of the conversation, for messages and notes')
    .addOption(queryOption)
    .option('--limit <number>', 'number of items of a page', count)
    .option('--max <number>', 'number of items in all', count)
    .option('--all', 'every item')
    .option('--after <cursor>', 'start after this cursor')
    .addOption(formatOption('table', 'ndjson', 'json', 'csv'))
    .addOption(fieldsOption)
    .addOption(rawOption)

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

type ListFlags = OptionsOf<typeof declareList>
type CallFlags = Partial<OptionsOf<typeof withCallOptions>>

/** Adds `list`, `get`, `call` and `api`. */
export function addCalls(program: Command, terminal: Terminal): void {
  declareList(program).action((kind, ids, flags) => {
    const operation = findOperation(`${kind}.list`)
    const own = ['limit', 'after'].find((name) => Object.hasOwn(flags.query, name))
    if (own !== undefined) throw usage(`-q has ${own}.`, `Pass it as --${own}.`)
    const query = { ...flags.query, ...(flags.after !== undefined && { after: flags.after }) }
    const input = { path: pathOf(operation, ids), query }
    return withSession(terminal, flags, (session) => listItems(session, operation, input, kind, flags, terminal))
  })
  program
    .command('get')
    .description('get one item')
    .addOption(profileOption)
    .argument('<kind>', 'conversations, contacts, members, organization, tasks or segments')
    .argument('[ids...]', 'the id of the item')
    .addOption(queryOption)
    .action((kind, ids, flags) => callById(`${kind}.get`, ids, flags, terminal))
  withCallOptions(program.command('call'))
    .description('call an operation of the package')
    .argument('<operation>', 'its id, such as messages.create')
    .argument('[ids...]', 'the ids of its path, in their order')
    .addHelpText('after', `\nOperations:\n${operationList()}`)
    .action((id, ids, flags) => callById(id, ids, flags, terminal))
  withCallOptions(program.command('api'))
    .description('send a request to a path of the service')
    .argument('<method>', 'GET, POST, PUT, PATCH or DELETE', methodOf)
    .argument('<path>', 'such as /api/oauth/v1/contacts')
    .action((method, path, flags) => {
      if (/^([a-z][a-z\d+.-]*:|\/\/)/i.test(path))
        throw usage('The path is a whole address.', 'Pass what follows the host.')
      const target: Operation['path'] = `/${path.replace(/^\//, '')}`
      return call({ id: `${method} ${target}`, method, path: target, envelope: 'any' }, {}, flags, terminal)
    })
}

function methodOf(text: string): Method {
  const method = methods.find((each) => each === text.toUpperCase())
  if (method !== undefined) return method
  throw usage(`${text} is not a method.`, `Use ${methods.join(', ')}.`)
}

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

async function listItems(
  { workspace }: Session,
  operation: Operation,
  { path, query }: OperationInput,
  kind: string,
  flags: ListFlags,
  terminal: Terminal,
): Promise<void> {
  const { stdout, signal } = terminal.io
  const isTerminal = stdout.isTTY === true
  const most = flags.max ?? (flags.all || isTerminal ? Number.POSITIVE_INFINITY : 100)
  const limit = Math.min(flags.limit ?? 100, most)
  const usual = isTerminal && !terminal.json ? 'table' : 'ndjson'
  const format = createFormatter(flags.format ?? usual, kind, flags)
  let left = most
  let isFirst = true
  const input = { path, query: { ...query, limit } }
  for await (const { data, after } of listPages(workspace, operation, input, { signal })) {
    await terminal.print(format(data.slice(0, left)))
    if (isFirst && data.length > 0) noteUnseen(flags, data, terminal)
    isFirst = false
    left -= data.length
    if (left > 0) continue
    if (left < 0) terminal.note(`Stopped after ${most} items, in the middle of a page, so there is no cursor.`)
    else if (after !== null) terminal.note(`Stopped after ${most} items. Go on with --after ${after}`, { after })
    break
  }
  await terminal.print(format(undefined))
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

async function call(operation: Operation, path: Pairs, flags: CallFlags, terminal: Terminal): Promise<void> {
  const { method } = operation
  const body = await readBody(flags, terminal)
  const input: OperationInput = { path, query: flags.query, ...(body !== undefined && { body }) }
  if (flags.dryRun && method !== 'GET') {
    const url = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''))
    return terminal.print(`${JSON.stringify({ method, path: url, query: input.query, body })}\n`)
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
  return parseJson(input === '-' ? await terminal.readAll() : String(await readBytes(input)), '--input')
}

function parseJson(text: string, flag = '-F'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usage(`${flag} is not JSON.`, 'A string has double quotes: -F name=\'"text"\', or use -f.')
  }
}
