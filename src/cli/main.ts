// src/cli is the command `support-workspace-sdk`: one file a command, and beside them what several of them use. It
// uses the package as any program does, by the entry points. `cli.ts` is the program, and `runCommand` the same for
// tests.

import { Command, CommanderError, Help, type Option } from '@commander-js/extra-typings'
import { version } from '../shared/version.ts'
import { addIdentity } from './account.ts'
import { addCalls } from './call.ts'
import { addCommands } from './commands.ts'
import { addDoctor } from './doctor.ts'
import { describeFailure, exitCodes, programName, quoted } from './errors.ts'
import { addExport } from './export.ts'
import { addFaultTest } from './fault-test.ts'
import { addImport } from './import.ts'
import { addList } from './list.ts'
import { addLogin } from './login.ts'
import { addProbe } from './probe.ts'
import { addSandbox } from './sandbox.ts'
import { type Io, ReaderGoneError, Terminal } from './terminal.ts'

/** Runs a command and returns its exit code. Nothing is thrown. */
export async function runCommand(io: Io): Promise<number> {
  const terminal = new Terminal(io)
  let help = ''
  try {
    const program = createProgram(terminal, (text) => {
      help += text
    })
    if (io.args.length === 0) program.outputHelp()
    else await program.parseAsync(io.args, { from: 'user' }).catch(unlessDone)
    if (help !== '') await terminal.print(help)
    return 0
  } catch (thrown) {
    if (thrown instanceof ReaderGoneError) return 0
    const failure = describeFailure(thrown, io.args)
    if (terminal.json) terminal.report(failure)
    else {
      const { message, hint, next } = failure
      terminal.say([message, hint].filter((text) => text !== undefined).join(String(hint).startsWith('\n') ? '' : ' '))
      if (next !== null && failure.exitCode !== 75) terminal.say(`\n  ${next.map(quoted).join(' ')}`)
    }
    return failure.exitCode
  }
}

// Commander prints what the values of an option that can be repeated are collected in as its default.
const descriptionOf = (option: Option) => new Help().optionDescription(option).replace(/ \(default: (\{\}|\[\])\)$/, '')

/** Commander also ends with an error after it has written help or a version. */
function unlessDone(thrown: unknown): void {
  if (!(thrown instanceof CommanderError) || thrown.exitCode !== 0) throw thrown
}

const examples = `
Examples:
  ${programName} login --for conversations.list,messages.list
  ${programName} export conversations --with messages --out conversations.ndjson
  ${programName} sandbox --self-token swot_self --app-token swot_app

Exit codes:
${Object.entries(exitCodes)
  .map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`)
  .join('\n')}
`

/** Creates the tree of all commands. */
function createProgram(terminal: Terminal, writeOut: (help: string) => void): Command {
  const program = new Command(programName)
    .description(
      'Logs in to a support workspace, reads, exports and imports its data, and imitates it for development.',
    )
    .version(version, '-v, --version', 'print the version')
    .option('--json', 'print JSON lines, and errors as JSON')
    .on('option:json', () => {
      terminal.json = true
    })
    .helpOption('-h, --help', 'print help')
    .addHelpText('after', examples)
    // The commands inherit all of these.
    .configureHelp({
      showGlobalOptions: true,
      optionDescription: (option) => `${option.mandatory ? '(required) ' : ''}${descriptionOf(option)}`,
    })
    .exitOverride()
    .configureOutput({
      writeOut,
      getOutHelpWidth: () => 80,
      // The error is thrown as well, and reported once.
      writeErr: () => {},
      outputError: () => {},
    })
  addLogin(program, terminal)
  addIdentity(program, terminal)
  addList(program, terminal)
  addCalls(program, terminal)
  addExport(program, terminal)
  addImport(program, terminal)
  addDoctor(program, terminal)
  addProbe(program, terminal)
  addSandbox(program, terminal)
  addFaultTest(program, terminal)
  addCommands(program, terminal)
  return program
}
