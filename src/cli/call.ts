import type { Command } from '@commander-js/extra-typings'
import { operations } from '../client/index.ts'
import type { Method, Operation, OperationInput } from '../index.ts'
import { describeIdentity } from './account.ts'
import { CommandError, quoted, usage } from './errors.ts'
import { findKind, findOperation, operationList, pathOf } from './find-operation.ts'
import { bare, checkDepth } from './list.ts'
import { checkBody, checkQuery, describeNames, operationAt } from './names.ts'
import { collectPairs, type OptionsOf, pathName, profileOption, queryOption, undocumentedOption } from './options.ts'
import { type Session, withSession } from './session.ts'
import type { Terminal } from './terminal.ts'
import { readText } from './text-file.ts'

type Pairs = Readonly<Record<string, string>>

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
    .option('--input <file>', 'the whole body as JSON; - reads stdin', pathName)
    .option('--dry-run', 'print the request of a write instead of sending it')
    .option('--yes', 'delete without a question')
    .addOption(undocumentedOption)

type CallFlags = Partial<OptionsOf<typeof withCallOptions>>

/** Adds `get`, `call` and `api`. */
export function addCalls(program: Command, terminal: Terminal): void {
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
    const effect = method === 'GET' ? undefined : 'The write was applied'
    checkDepth(result, effect)
    const text = JSON.stringify(result, null, stdout.isTTY && !terminal.json ? 2 : undefined)
    await terminal.print(`${text}\n`, effect)
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
