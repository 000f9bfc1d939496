import { PassThrough, Writable } from 'node:stream'
import { interrupted } from '../../src/cli/errors.ts'
import { runCommand } from '../../src/cli/main.ts'
import type { Io } from '../../src/cli/terminal.ts'

/** What a test gives a command. By default there is no terminal, and stdin is empty. */
export interface Given {
  readonly env?: Readonly<Record<string, string | undefined>>
  /** What is read from stdin, which then ends. A stream is passed as it is. */
  readonly stdin?: string | PassThrough
  /** Which streams are terminals. */
  readonly terminals?: readonly ('stdin' | 'stdout' | 'stderr')[]
  /** What happens to stdout: the disk that it leads to is full, or its reader has gone. */
  readonly lost?: 'ENOSPC' | 'EPIPE'
  readonly platform?: string
  /** The number of columns of the terminal. */
  readonly columns?: number
  readonly openBrowser?: (address: string) => unknown
  readonly loginTimeout?: number
}

/** A command that runs in this process. */
export interface Running {
  /** `screen` has both in the order in which they were written. */
  readonly output: { stdout: string; stderr: string; screen: string }
  /** Resolves when a stream has this text, and rejects if the command ends without it. */
  printed(text: string, stream?: 'stdout' | 'stderr'): Promise<void>
  interrupt(): void
  readonly ended: Promise<Ran>
}

/** What a command has printed, and its exit code. */
export class Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string

  constructor(code: number, { stdout, stderr }: { stdout: string; stderr: string }) {
    this.code = code
    this.stdout = stdout
    this.stderr = stderr
  }

  /** The lines of stdout, parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it has asked for
  get lines(): any[] {
    return linesOf(this.stdout).map((line) => JSON.parse(line))
  }

  /** The last line of stderr, parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it has asked for
  get failure(): any {
    return JSON.parse(linesOf(this.stderr).at(-1) ?? 'null')
  }
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')

/** Starts a command in this process. */
export function start(args: readonly string[], given: Given = {}): Running {
  const interrupt = new AbortController()
  const output = { stdout: '', stderr: '', screen: '' }
  let wake = () => {}
  const write = (name: 'stdout' | 'stderr') => {
    const stream = new PassThrough({ encoding: 'utf8' })
    stream.on('data', (text: string) => {
      output[name] += text
      output.screen += text
      wake()
    })
    return Object.assign(stream, {
      isTTY: given.terminals?.includes(name) === true,
      ...(given.columns !== undefined && { columns: given.columns }),
    })
  }
  const stdin = given.stdin instanceof PassThrough ? given.stdin : new PassThrough()
  if (stdin !== given.stdin) stdin.end(given.stdin)
  const stop = () => interrupt.abort(interrupted(args[0]))
  const io: Io = {
    args,
    env: given.env ?? {},
    stdin: Object.assign(stdin, { isTTY: given.terminals?.includes('stdin') === true }),
    stdout: given.lost === undefined ? write('stdout') : failing(given.lost),
    stderr: write('stderr'),
    platform: given.platform ?? process.platform,
    signal: interrupt.signal,
    interrupt: stop,
    openBrowser: async (address) => given.openBrowser?.(address),
    ...(given.loginTimeout !== undefined && { loginTimeout: given.loginTimeout }),
  }
  let hasEnded = false
  const ended = runCommand(io).then(async (code): Promise<Ran> => {
    // What was written last is not read yet.
    await new Promise((resolve) => setImmediate(resolve))
    hasEnded = true
    wake()
    if (args.includes('--json')) checkJson(output)
    checkWords(output.stderr)
    if (isOwnText.has(String(args[0])) && !args.includes('--json')) checkWords(output.stdout)
    if (args[0] !== 'commands') await checkFlags(output.stderr)
    return new Ran(code, output)
  })
  return {
    output,
    ended,
    interrupt: stop,
    async printed(text, stream = 'stdout') {
      while (!output[stream].includes(text)) {
        if (hasEnded) throw new Error(`It ended without ${JSON.stringify(text)}: ${output.stdout}${output.stderr}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

/** What belongs to programs that use the package. Paths, ids of operations and texts of the service are others. */
const wordsOfPrograms =
  /`|\b(accessToken|baseUrl|clientId|clientSecret|redirectUri|resumeFrom|journal\.resolve|faultTestProgram|sqliteStorage|confirmTimeout|maxRetries|maxResponseBytes|journal\.list)\b|"(envelope|find|response)"|or a function|only: \[|docs\/\w+\.md/

/** Commands that print only words of their own. */
const isOwnText = new Set([
  'login',
  'logout',
  'logins',
  'use',
  'whoami',
  'doctor',
  'journal',
  'import',
  'fault-test',
  'probe',
])

/** Throws if a message has words of the package instead of words of the command. */
function checkWords(text: string): void {
  for (const line of linesOf(text)) {
    const { message, hint, note } = line.startsWith('{') ? JSON.parse(line) : { message: line }
    const [wrong] = wordsOfPrograms.exec([message, hint, note].join(' ')) ?? []
    if (wrong !== undefined) throw new Error(`A message of the command has ${wrong}: ${line}`)
  }
}

/** Throws if a line of a stream is not JSON, which a program that passes `--json` expects. */
function checkJson({ stdout, stderr }: Running['output']): void {
  for (const line of linesOf(stdout + stderr)) JSON.parse(line)
}

let known: Promise<ReadonlySet<string>> | undefined

/** Throws if a message names an option that no command has. A mistyped one is in quotes, and a value in a URL follows a `=`. */
async function checkFlags(stderr: string): Promise<void> {
  known ??= run(['commands', '--json']).then(({ lines: [{ options, commands }] }) => {
    const all: { flags: string }[] = [options, ...commands.map((command: typeof options) => command.options)].flat()
    // `--no` is an option of npx, and `--use-system-ca` stands in a message of Node.
    return new Set(['--no', '--help', '--use-system-ca', ...all.flatMap(({ flags }) => flags.match(/--[\w-]+/g) ?? [])])
  })
  const flags = await known
  const unknown = stderr.match(/(?<![\w"=-])--\w[\w-]*/g)?.find((flag) => !flags.has(flag))
  if (unknown !== undefined) throw new Error(`A message advises ${unknown}, which no command has: ${stderr}`)
}

const systemWords = { ENOSPC: 'no space left on device', EPIPE: 'broken pipe' }

function failing(code: 'ENOSPC' | 'EPIPE'): Writable {
  const error = Object.assign(new Error(`${code}: ${systemWords[code]}, write`), { code })
  return new Writable({ autoDestroy: false, write: (_chunk, _encoding, done) => done(error) }).on('error', () => {})
}

/** Runs a command in this process until it ends. */
export function run(args: readonly string[], given?: Given): Promise<Ran> {
  return start(args, given).ended
}
