import { CommanderError } from 'commander'
import { redact } from '../errors/redact.ts'
import {
  exitCodeOf,
  InvalidArgumentError,
  isSupportWorkspaceError,
  NotFoundError,
  type Remedy,
  SupportWorkspaceError,
} from '../index.ts'

/** The exit codes of every command. 65, 70, 75 and 77 are the codes that `exitCodeOf` returns. */
export const exitCodes = {
  0: 'ok',
  1: 'anything else: a bug, a port in use, or a fault test that failed',
  2: 'wrong arguments or file names, or a question without a terminal',
  3: 'not found',
  65: 'verify: a write may have been applied, or its output was lost',
  70: 'fix: the request, the data or the configuration is wrong',
  75: 'retry: run the same command again later',
  77: 'reconnect: log in again',
  124: 'the login took longer than five minutes',
  130: 'interrupted',
} as const

type ExitCode = keyof typeof exitCodes

const remedies: Partial<Record<ExitCode, Remedy>> = { 65: 'verify', 75: 'retry', 77: 'reconnect', 124: 'reconnect' }

/** How the command is started where it is not installed. `--no` keeps npx from fetching a package of that name. */
export const programName = 'npx --no -- support-workspace-sdk'

/** Returns a command as an array of arguments, so that a program can run it. */
export function commandOf(...args: readonly string[]): readonly string[] {
  return [...programName.split(' '), ...args]
}

/** Ends a command with an exit code. */
export class CommandError extends SupportWorkspaceError {
  static override readonly kind: string = 'CommandError'

  readonly exitCode: ExitCode
  /** The command to run next, as `commandOf` returns it. */
  readonly next: readonly string[] | undefined

  constructor(exitCode: ExitCode, message: string, hint: string, next?: readonly string[]) {
    super(message, { hint, remedy: remedies[exitCode] ?? 'fix' })
    this.exitCode = exitCode
    this.next = next
  }
}

/** Creates the error for arguments that are wrong, or for input that only a terminal could give. */
export function usage(message: string, hint: string): CommandError {
  return new CommandError(2, message, hint)
}

/** Creates the error that Ctrl-C ends a command with. */
export function interrupted(command = ''): CommandError {
  const isWriting = command === 'export' || command === 'import'
  const hint = isWriting ? 'What was written stays. Run the same command again to go on.' : 'Run it again.'
  return new CommandError(130, 'Interrupted.', command === 'login' ? 'Nothing was stored.' : hint)
}

/** Returns an argument as a shell takes it, on one line. */
export function quoted(argument: string): string {
  if (/^[\w./:,=@%+-]+$/.test(argument)) return argument
  if (!/\p{Cc}/u.test(argument)) return `'${argument.replaceAll("'", `'\\''`)}'`
  // JSON's escapes are those of a shell, which has no other way to put a line break on one line.
  return `$'${JSON.stringify(argument).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

/** Returns a pair such as `status=open` in quotes, as every text shows it. */
export function inQuotes(pair: string): string {
  const text = quoted(pair)
  return text === pair ? `'${pair}'` : text
}

/** A failed command, as `--json` reports it in the last line of stderr. */
export interface Failure extends Readonly<Record<string, unknown>> {
  readonly message: string
  readonly exitCode: number
  readonly next: readonly string[] | null
}

/** Describes what a command has thrown. No token or secret is in it. */
export function describeFailure(thrown: unknown, args: readonly string[]): Failure {
  const error: Error & { next?: Failure['next'] } = explain(
    thrown instanceof Error ? thrown : new Error(String(thrown)),
  )
  const exitCode = codeOf(error)
  const { name, message, next = exitCode === 75 ? commandOf(...args) : null } = error
  // The advice of the command stands for that of the package.
  const { advice, ...json }: { message?: unknown; hint?: unknown; advice?: unknown } = isSupportWorkspaceError(error)
    ? error.toJSON()
    : { name, message: redact(message) }
  const words = error instanceof CommandError ? withoutBackquotes : inWordsOfCommand
  const given = advice ?? json.hint
  const hint = given === undefined ? {} : { hint: words(String(given)) }
  return { ...json, message: words(String(json.message)), ...hint, exitCode, next }
}

/** The options of the package, as the command has them. */
const flags: Readonly<Record<string, string>> = {
  accessToken: 'The token in SUPPORT_WORKSPACE_TOKEN or on stdin',
  baseUrl: '--base-url or SUPPORT_WORKSPACE_URL',
  clientId: '--client-id',
  clientSecret: 'SUPPORT_WORKSPACE_CLIENT_SECRET',
  redirectUri: '--redirect-uri',
  command: 'the command after --',
  folder: '--folder',
  outputs: '--output',
  only: '--only',
  parallel: '--parallel',
  confirmTimeout: '--confirm-timeout',
  limit: '--limit',
  after: '--after',
  setup: 'the sandbox',
  sqliteStorage: 'SQLite',
  createConnectionStore: 'the login',
  faultTestProgram: 'fault-test',
}

/** What the package tells a program to write, and what the command takes instead. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/Pass `only: \['([^']*)'\]`/g, 'Pass --only $1'],
  [/only: \['([^']*)'\]/g, '--only $1'],
  [/call `resolve` with its key and/g, 'run journal resolve with its key and'],
  [/Read the list from its start: leave out [^.]*\./g, 'Leave --after out to read the list from its start.'],
  [/Log in with actor "(\w+)"/g, 'Log in with --actor $1'],
  [/the actor of this client is/g, 'the actor of this token is'],
  [/, or raise `maxResponseBytes`|, or pass `find`|, or a function that returns it/g, ''],
  [/If you defined the operation, correct its `envelope`\. /g, ''],
  [/If you defined the operation, correct its `response` schema\. Otherwise [^.]*\./g, 'Report it to the service.'],
  [/`journal\.list` shows/g, 'journal list shows'],
  [/ \(docs\/[\w-]+\.md(#[\w-]+)?\)| See docs\/[\w-]+\.md(#[\w-]+)?\./g, ''],
]

/** Returns a text of the package in words of the command: its flags instead of the options of a program. */
function inWordsOfCommand(text: string): string {
  const replaced = phrases.reduce((before, [pattern, own]) => before.replace(pattern, own), text)
  return replaced
    .replace(/`(\w+)`/g, (_, name: string) => (Object.hasOwn(flags, name) ? String(flags[name]) : `"${name}"`))
    .replaceAll('`', '"')
    .trim()
}

/** Backquotes would be run by a shell into which a message is copied. */
function withoutBackquotes(text: string): string {
  return text.replaceAll('`', '"')
}

/** Puts errors of Commander and of the file system into words. */
function explain(error: Error): Error {
  if (error instanceof CommanderError) return usageOf(error)
  const { code = '', path } = error as NodeJS.ErrnoException
  // A full disk, a quota or a limit for the size of files.
  if (/^E(NOSPC|FBIG|DQUOT)$/.test(code))
    return new CommandError(70, `A file could not be written (${causeOf(error)}).`, 'Make room, then run it again.')
  if (code === 'ELOOP' && path !== undefined)
    return usage(redact(`${path} is a symbolic link.`), 'Name the file that it leads to, or move the link away.')
  if (code === 'EEXIST' && path !== undefined)
    return usage(redact(`${path} exists already.`), 'Choose another name, or move it away.')
  const isUnusable = /^(ERR_FS_)?E(NOENT|ACCES|PERM|ISDIR|NOTDIR|LOOP|ROFS|NAMETOOLONG)$/.test(code)
  if (path === undefined || !isUnusable) return error
  return usage(redact(`${path} cannot be opened (${code}).`), 'Check its name and its folder.')
}

/**
 * Creates the error for output that is lost.
 *
 * @param effect what the service has done, if it is not to be repeated
 */
export function lostOutput(error: Error, effect: string | undefined): CommandError {
  const lost = `output could not be written (${causeOf(error)}).`
  if (effect !== undefined) return new CommandError(65, `${effect}, but its ${lost}`, 'Do not repeat it.')
  return new CommandError(70, `The ${lost}`, 'What was done before stays. Make room, then run it again.')
}

/** Returns the words of the system for an error, such as "ENOSPC: no space left on device". */
function causeOf({ message }: Error): string {
  return message.replace(/, \w+$/, '')
}

function codeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode
  if (error instanceof InvalidArgumentError) return 2
  return error instanceof NotFoundError ? 3 : exitCodeOf(error)
}

/** Commander's own words, without the values that were given: they might be secrets after a mistyped option. */
function usageOf({ code, message }: CommanderError): CommandError {
  if (code === 'commander.help') return usage('A command is missing.', 'Run it with --help to list its commands.')
  const words = message.replace(/^error: /, '').replace(/=[^']*(?=')|\. Expected .*/g, '')
  const [problem = '', suggestion] = redact(words).split(/\.?[\n\s]*\((?=Did you mean)/)
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1).replaceAll("'", '"')}`.replace(/\.?$/, '.')
  return usage(sentence, suggestion?.replace(/\)$/, '') ?? 'Run it with --help to list what it takes.')
}
