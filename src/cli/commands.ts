import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings'
import { version } from '../shared/version.ts'
import { exitCodes, programName } from './errors.ts'
import type { Terminal } from './terminal.ts'

/** Adds `commands`, which lists the tree of commands for programs. */
export function addCommands(program: Command, terminal: Terminal): void {
  program
    .command('commands')
    .description('list all commands, options and exit codes')
    .action(async () => {
      const commands = leavesOf(program).map(describe)
      const text = commands.map(({ name, description }) => `${name.padEnd(18)}  ${description}`).join('\n')
      const { options } = describe(program as unknown as CommandUnknownOpts)
      await terminal.show({ program: programName, version, exitCodes, options, commands }, text)
    })
}

/** Returns the commands that do something. */
function leavesOf(parent: CommandUnknownOpts): CommandUnknownOpts[] {
  return parent.commands.flatMap((command) => (command.commands.length === 0 ? [command] : leavesOf(command)))
}

/** Returns the whole name of a command, without the program, such as `import contacts`. */
function nameOf(command: CommandUnknownOpts): string {
  return command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
}

function describe(command: CommandUnknownOpts) {
  return {
    name: nameOf(command),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
      required: argument.required,
      variadic: argument.variadic,
    })),
    options: command.options.map(({ flags, description, mandatory, variadic, defaultValue, argChoices }) => ({
      flags,
      description,
      required: mandatory,
      repeatable: variadic || typeof defaultValue === 'object',
      ...(argChoices !== undefined && { choices: argChoices }),
      ...(defaultValue !== undefined && typeof defaultValue !== 'object' && { default: defaultValue as unknown }),
    })),
  }
}
