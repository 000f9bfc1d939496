import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isAbsolute, normalize } from 'node:path'
import { checkSignal } from '../../core/index.ts'
import { SupportWorkspaceError } from '../../errors/index.ts'
import { throwIfAborted } from '../../shared/abort.ts'
import {
  type Check,
  checkFlag,
  checkFunction,
  checkInteger,
  checkObject,
  checkOneOf,
  checkText,
  mustBe,
  readOptions,
} from '../../shared/check-options.ts'
import { checkInjected, checkSelection, selectFaults, selectionChecks } from '../fault-selection.ts'
import type { FaultName, InjectedFault } from '../faults.ts'
import { judge } from '../judgements.ts'
import { createReport, type FaultTestReport } from '../report.ts'
import type { Run } from '../run-job.ts'
import { readData, runWithoutFaults } from '../run-without-faults.ts'
import { checkUnseen, optionsWithout, showProgress } from '../test-job.ts'
import { checkCopyable } from './copy-folder.ts'
import { killAtExit } from './process-group.ts'
import type { ProgramExit, ProgramOptions } from './program-options.ts'
import { type ProgramResult, runProgram } from './run-program.ts'

const ends = ['done', 'verify', 'fix', 'retry', 'reconnect'] as const satisfies readonly ProgramExit[]
const texts = (hint: string) => (name: string, value: unknown) => {
  const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
  if (!isList) throw mustBe('an array of texts', name, value, hint)
  return [...value]
}
const programHint = 'Pass a program and its arguments, as in `["node", "reply.mjs"]`.'
const checkCommand = (value: unknown): string[] => {
  const command = texts(programHint)('command', value)
  if (command[0] === '') throw mustBe('an array that begins with a program', 'command', '', programHint)
  return command
}
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
  ...selectionChecks,
  sandbox: optionsWithout<NonNullable<ProgramOptions['sandbox']>>('now'),
  env: checkFunction<NonNullable<ProgramOptions['env']>>,
  setup: checkFunction<NonNullable<ProgramOptions['setup']>>,
  check: checkFunction<NonNullable<ProgramOptions['check']>>,
  folder: checkFolder,
  cwd: checkFolder,
  outputs: checkOutputs,
  exits(name, value) {
    checkObject(name, value, 'Pass an object such as `{ 3: "verify" }`.')
    return Object.fromEntries(
      Object.entries(value).map(([code, end]) => [code, checkOneOf(`${name}[${code}]`, end, ends)]),
    )
  },
  unseen: checkUnseen,
  quick: checkFlag,
  parallel: (name, value) => checkInteger(name, value, 1, 'Leave it out for the number of cores.'),
  signal: checkSignal,
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

/** Faults that have the same effect on a read as a simpler fault, so reads are not tested with them. */
const sameForReads: readonly FaultName[] = ['reset-after-effect', 'late-effect', 'killed-after-effect']

/** Runs a program once for each of its requests and each fault, and once for each of its file writes and each kill. */
export async function testProgram(givenCommand: readonly string[], given: ProgramOptions): Promise<FaultTestReport> {
  const command = checkCommand(givenCommand)
  const { only, ...read } = readOptions(given, checks, '`faultTestProgram`')
  const options = { ...read, sandbox: { ...fewItems, ...read.sandbox } }
  if (process.platform === 'win32') {
    throw new SupportWorkspaceError('The fault test of a program needs process groups, which Windows does not have.', {
      hint: 'Run it on Linux or macOS, also in WSL.',
    })
  }
  const started = performance.now()
  const stopKilling = killAtExit()
  try {
    if (options.folder !== undefined) await checkCopyable(options.folder)
    const data = readData(options)
    const plan = {
      ...options,
      command,
      seed: 1,
      start: data.end,
      maxRequests: 10_000,
      cleanRequests: [],
      isReal: false,
    }
    let isReal = false
    const runOnce = async (delay: number): Promise<ProgramResult> => {
      const run = await runProgram({ ...plan, start: data.end + delay, seed: delay > 0 ? 2 : 1 }, undefined)
      isReal ||= run.processes === 0
      return run
    }
    const { run: clean, ...baseline } = await runWithoutFaults('program', runOnce)
    const { requests, outputs } = clean
    const unwritten = [...outputs].find(([, lines]) => lines.length === 0)?.[0]
    if (unwritten !== undefined) {
      const hint = 'Correct the name, and let the program write the file into the folder of `env`.'
      throw new SupportWorkspaceError(`After the run without faults, \`${unwritten}\` has no line to compare.`, {
        hint,
      })
    }
    if (clean.writes.length === 0 && outputs.size === 0) {
      const hint =
        'Perhaps the sample data has nothing for it to do: change the data in `setup`. If it writes files, name them in `outputs`.'
      throw new SupportWorkspaceError('The program writes nothing to the service, so nothing is compared.', { hint })
    }
    const maxRequests = Math.max(requests.length * 20 + 50, 1_000)
    const faultyPlan = { ...plan, isReal, cleanRequests: requests, maxRequests }
    checkSelection(options, clean)
    const faults = options.faults ?? (options.quick ? quickFaults : undefined)
    const canDiffer = ({ fault, at }: InjectedFault): boolean =>
      fault !== 'refused' && !(sameForReads.includes(fault) && requests[at - 1]?.method === 'GET')
    const selected = only ?? selectFaults(clean, { ...options, faults }).filter(canDiffer)
    const runs: Run[] = []
    let [next, count] = [0, 0]
    const work = async (): Promise<void> => {
      for (let index = next++; index < selected.length; index = next++) {
        throwIfAborted(options.signal)
        runs[index] = await runProgram(faultyPlan, selected[index])
        count += 1
        showProgress(`Fault test: ${count} of ${selected.length}`)
      }
    }
    await Promise.all(Array.from({ length: options.parallel ?? availableParallelism() }, work))
    const judged = runs.map((run) => ({ run, judgements: judge({ ...baseline, run: clean }, run) }))
    if (only !== undefined) for (const { run, judgements } of judged) if (judgements.length === 0) checkInjected(run)
    const seconds = Math.round((performance.now() - started) / 1_000)
    const notes = isReal ? [`The program waited in real time, ${seconds} s in all: only Node can simulate it.`] : []
    return createReport({ what: 'program', clean, runs: judged, seed: 1, notes })
  } finally {
    stopKilling()
    showProgress('')
  }
}
