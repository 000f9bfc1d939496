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
  1: 'anything else: a bug, a port that is in use, or a fault test that failed',
  2: 'the arguments or the names of files are wrong, or input is needed and there is no terminal',
  3: 'not found',
  65: 'verify: a write may have been applied',
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
export function interrupted(): CommandError {
  return new CommandError(130, 'Interrupted.', 'What was written stays. Run the same command again to go on.')
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
  const json = isSupportWorkspaceError(error) ? error.toJSON() : { name, message: redact(message) }
  return { ...json, message: String(json.message), exitCode, next }
}

/** Puts errors of Commander and of the file system into words. */
function explain(error: Error): Error {
  if (error instanceof CommanderError) return usageOf(error)
  const { code = '', path } = error as NodeJS.ErrnoException
  // A full disk, a quota or a limit for the size of files.
  if (/^E(NOSPC|FBIG|DQUOT)$/.test(code))
    return new CommandError(70, `A file could not be written (${causeOf(error)}).`, 'Make room, then run it again.')
  const isUnusable = /^(ERR_FS_)?E(NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|LOOP|ROFS|NAMETOOLONG)$/.test(code)
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
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1).replaceAll("'", '`')}`.replace(/\.?$/, '.')
  return usage(sentence, suggestion?.replace(/\)$/, '') ?? 'Run it with --help to list what it takes.')
}
