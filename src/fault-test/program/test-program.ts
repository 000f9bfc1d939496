import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isAbsolute, normalize } from 'node:path'
import { SupportWorkspaceError } from '../../errors/index.ts'
import {
  type Check,
  checkFlag,
  checkFunction,
  checkInteger,
  checkOneOf,
  checkPlain,
  checkText,
  mustBe,
  readOptions,
} from '../../shared/check-options.ts'
import { type Selection, selectFaults } from '../fault-selection.ts'
import { type FaultName, faultNames, type InjectedFault } from '../faults.ts'
import type { FaultTestReport } from '../report.ts'
import type { Run } from '../run.ts'
import { sharedChecks, testAll } from '../test-all.ts'
import { killAtExit } from './process-group.ts'
import type { ProgramExit, ProgramOptions } from './program-options.ts'
import { runProgram } from './run-program.ts'

const ends = ['done', 'verify', 'fix', 'retry', 'reconnect'] as const satisfies readonly ProgramExit[]
const texts = (hint: string) => (name: string, value: unknown) => {
  const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
  if (!isList) throw mustBe('an array of texts', name, value, hint)
  return [...value]
}
const programHint = 'Pass a program and its arguments, as in `["node", "reply.mjs"]`.'
const fileHint = 'Pass the names of files below the folder.'
const checkOutputs = (name: string, value: unknown): string[] => {
  const outputs = texts(fileHint)(name, value)
  const outside = (path: string) => isAbsolute(path) || /^\.*$|^\.\.[\\/]/.test(normalize(path))
  if (outputs.some(outside)) throw mustBe('an array of names of files', name, outputs.find(outside), fileHint)
  return outputs
}
const checkFolder = (name: string, value: unknown): string => {
  const path = checkText(name, value)
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  if (!isFolder) throw mustBe('the path of a folder', name, value, 'Pass one that is there.')
  return path
}

const checks = {
  ...sharedChecks,
  env: checkFunction<NonNullable<ProgramOptions['env']>>,
  setup: checkFunction<NonNullable<ProgramOptions['setup']>>,
  check: checkFunction<NonNullable<ProgramOptions['check']>>,
  folder: checkFolder,
  cwd: checkFolder,
  outputs: checkOutputs,
  exits(name, value) {
    const exits = checkPlain(name, value, 'Pass an object such as `{ 3: "verify" }`.')
    return Object.fromEntries(
      Object.entries(exits).map(([code, end]) => [code, checkOneOf(`${name}[${code}]`, end, ends)]),
    )
  },
  quick: checkFlag,
  parallel: (name, value) => checkInteger(name, value, 1, 'Leave it out for the number of cores.'),
} satisfies Record<keyof ProgramOptions, Check<unknown>>

/** Few, because each request costs several starts of the program. One of these conversations is closed. */
const fewItems = { conversations: 3, contacts: 3 }

/** The faults of the option `quick`: the six that find most. */
const quickFaults: readonly FaultName[] = [
  'unavailable',
  'reset-after-effect',
  'revoked',
  'killed-before-request',
  'killed-after-effect',
  'killed-before-file-write',
]

/** Runs a program once for each of its requests and each fault, and once for each of its file writes and each kill. */
export async function testProgram(givenCommand: readonly string[], given: ProgramOptions): Promise<FaultTestReport> {
  const command = texts(programHint)('command', givenCommand)
  const read = readOptions(given, checks, '`faultTestProgram`')
  const options = { ...read, sandbox: { ...fewItems, ...read.sandbox } }
  if (process.platform === 'win32') {
    throw new SupportWorkspaceError('The fault test of a program needs process groups, which Windows does not have.', {
      hint: 'Run it on Linux or macOS, also in WSL.',
    })
  }
  const { only: _, ...runOptions } = options
  const stopKilling = killAtExit()
  try {
    return await testAll({
      options,
      parallel: options.parallel ?? availableParallelism(),
      run: (plan, injected) => runProgram({ ...runOptions, ...plan, command }, injected),
      select: (clean) => selectForProgram(clean, options),
    })
  } finally {
    stopKilling()
  }
}

/** Leaves out refused connections, which a server can only reset, unless they were chosen. */
function selectForProgram(clean: Run, options: Selection & { readonly quick?: boolean | undefined }): InjectedFault[] {
  const { outputs, writes } = clean
  const unwritten = [...outputs].find(([, lines]) => lines.length === 0)?.[0]
  if (unwritten !== undefined) {
    throw new SupportWorkspaceError(`After the run without faults, \`${unwritten}\` has no line to compare.`, {
      hint: 'Correct the name, and let the program write the file into SUPPORT_WORKSPACE_FOLDER.',
    })
  }
  if (writes.length === 0 && outputs.size === 0) {
    const hint =
      'If it writes files, name them in `outputs` (--output in a shell). Perhaps the sample data has nothing for it to do: change the data in `setup`, which a shell does not have.'
    throw new SupportWorkspaceError('The program writes nothing to the service, so nothing is compared.', { hint })
  }
  const faults = options.faults ?? (options.quick ? quickFaults : faultNames.filter((name) => name !== 'refused'))
  return selectFaults(clean, { ...options, faults })
}
