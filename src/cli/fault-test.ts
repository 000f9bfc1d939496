import type { Command } from '@commander-js/extra-typings'
import { faultTestProgram } from '../fault-test/index.ts'
import { CommandError } from './errors.ts'
import { collect, count } from './options.ts'
import type { Terminal } from './terminal.ts'

/** Adds `fault-test`, which shows whether a program loses or doubles a write. */
export function addFaultTest(program: Command, terminal: Terminal): void {
  program
    .command('fault-test')
    .description('run a program once for each of its requests and each fault, and say what it lost or doubled')
    .argument('<command...>', 'the program and its arguments, after --')
    .option('--folder <folder>', 'a folder that is copied for each run: what the program keeps, and what it reads')
    .option('--output <file>', 'a file of the folder to compare with a run without faults', collect, [])
    .option('--only <run>', 'a run to repeat, as the report names it', collect, [])
    .option('--quick', 'only a few faults, for each change of the program')
    .option('--allow-unseen', 'do not report messages that are sent without having read what somebody else wrote')
    .option('--parallel <number>', 'number of runs at the same time (default: the number of cores)', count)
    .addHelpText('after', environment)
    .action(async (command, { folder, output, only, quick, allowUnseen, parallel }) => {
      const report = await faultTestProgram(command, {
        folder,
        quick,
        parallel,
        ...(allowUnseen && { unseen: 'allowed' as const }),
        ...(output.length > 0 && { outputs: output }),
        ...(only.length > 0 && { only }),
        signal: terminal.io.signal,
      })
      const { runs, failures, writes } = report
      // In a shell, only one of the two ways to repeat a run is there.
      const text = report
        .toString()
        .replace(/pass `only: [^`]*` to `faultTestProgram`, or (--only \S+) in a shell/g, 'pass $1')
      await terminal.show({ runs, failures, writes }, text)
      if (failures.length > 0) {
        const hint = 'The report says what was lost or doubled, and with --only you repeat a run.'
        throw new CommandError(1, 'The program does not survive every fault.', hint)
      }
    })
}

const environment = `
Each run has a new sandbox with three conversations, which the environment of
the program names:
  SUPPORT_WORKSPACE_URL     the address of the sandbox
  SUPPORT_WORKSPACE_TOKEN   a token of it that acts as a person
  SUPPORT_WORKSPACE_FOLDER  the folder of the run, which survives kills

Its exit code says what comes next: 0 done, 65 verify, 70 fix, 75 retry,
77 reconnect. Every other one is a crash.
`
