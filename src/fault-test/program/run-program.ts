import { closeSync, openSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { throwIfAborted } from '../../shared/abort.ts'
import { checkPlain } from '../../shared/check-options.ts'
import { definitionOf, type InjectedFault, placeOf } from '../faults.ts'
import type { FaultTestEnd } from '../options.ts'
import type { Run, RunPlan } from '../run.ts'
import { SharedNumbers } from './clock-file.ts'
import { copyFolder } from './copy-folder.ts'
import { SandboxHttpServer } from './http-server.ts'
import { ProcessGroup } from './process-group.ts'
import type { ProgramExit, ProgramOptions, ProgramRun } from './program-options.ts'

/** The program and the options that all runs share. */
export interface ProgramPlan extends RunPlan, Omit<ProgramOptions, keyof RunPlan | 'only'> {
  readonly command: readonly string[]
  /** Whether the program waits in real time, because it does not run in Node. */
  readonly isReal: boolean
}

/** The result of a run, and the number of its processes that had simulated time. */
export type ProgramResult = Run & { readonly processes: number }

const maxStarts = 4
/** Maximum number of timers in one start, which take about half a minute to fire. */
const maxTimers = 10_000
const day = 86_400_000
/** Real minutes without a request after which a program is stopped. Until then the program might be computing. */
const patience = { simulated: 10, real: 2 }
/** Simulated time until a program is started again, and for late effects at the end, in milliseconds. */
const [pauseBetween, afterwards] = [10_000, 300_000]
const shownLines = 5
/** Lines that Node prints around the message of an uncaught error. */
const aroundMessage = /^\s*(at .*|\^+|Node\.js v.*|)$/

const defaultExits: Readonly<Record<string, ProgramExit>> = {
  0: 'done',
  65: 'verify',
  70: 'fix',
  75: 'retry',
  77: 'reconnect',
}

/** The file to preload: the source in this repository, and the built file in the package. */
const file = import.meta.filename.endsWith('.ts') ? 'preload.ts' : 'fault-test-preload.js'
const preload = pathToFileURL(join(dirname(import.meta.filename), file))

/**
 * Runs a program with a fault or without, in a fresh sandbox and a copy of its folder. Starts the program again like a supervisor.
 */
export async function runProgram(plan: ProgramPlan, injected: InjectedFault | undefined): Promise<ProgramResult> {
  const root = await mkdtemp(join(tmpdir(), 'fault-test-'))
  const [folder, shared, printed] = [join(root, 'folder'), join(root, 'shared'), join(root, 'printed')]
  await mkdir(folder)
  if (plan.folder !== undefined) {
    await copyFolder(plan.folder, folder).catch(async (thrown) => {
      await rm(root, { recursive: true, force: true })
      throw thrown
    })
  }
  const numbers = prepareNumbers(shared, plan.start, injected)
  let group: ProcessGroup | undefined
  /** Whether a fault has killed the program. */
  let isKilled = false
  const kill = async (): Promise<void> => {
    isKilled = true
    await group?.kill()
  }
  const server = new SandboxHttpServer({ plan, injected, numbers, kill })
  const { sandbox, record } = server
  const output = openSync(printed, 'a')
  try {
    const url = await server.listen()
    const tokens = [sandbox.issueToken({ actor: 'self' })]
    const told = () => ({ url, token: tokens.at(-1) ?? '', folder })
    await plan.setup?.(sandbox, told())
    record.begin()
    const { pause = 0 } = definitionOf(injected)
    const attempts: string[] = []
    let end: FaultTestEnd | undefined
    let hasMetFault = false
    while (end === undefined) {
      const firstRequest = sandbox.requests.length
      const env = { ...environmentOf(plan, told()), SUPPORT_WORKSPACE_FAULT_TEST: shared }
      isKilled = false
      group = new ProcessGroup(plan.command, plan.cwd ?? process.cwd(), env, output)
      const { exit, why } = await watch(group, plan, numbers, server, () => isKilled)
      hasMetFault = record.hasMetFault(firstRequest)
      const remedy = { ...defaultExits, ...plan.exits }[String(exit)]
      const wasKilled =
        isKilled || (exit === 'SIGKILL' && injected !== undefined && placeOf(injected.fault) !== 'request')
      if (why !== undefined) attempts.push(`was stopped after ${why}`)
      else if (wasKilled) attempts.push('was killed')
      else attempts.push(`ended with ${typeof exit === 'number' ? `code ${exit}` : exit} (${remedy ?? 'a crash'})`)
      if (why !== undefined) end = 'never-ends'
      else if (!wasKilled && (remedy === 'done' || remedy === 'verify' || remedy === 'fix')) end = remedy
      else if (attempts.length === maxStarts) end = 'gave-up'
      else if (!plan.isReal) numbers.passTo(numbers.now + Math.max(pauseBetween, wasKilled ? pause : 0))
      if (remedy === 'reconnect') tokens.push(sandbox.issueToken({ actor: 'self' }))
    }
    numbers.passTo(numbers.now + afterwards)
    await server.applyLate()
    const text = await readFile(printed, 'utf8')
    const lines = text
      .split('\n')
      .filter((line) => !aroundMessage.test(line))
      .slice(-shownLines)
    const error = `${attempts.at(-1)}: ${lines.at(-1)}`
    const outputs = new Map(await Promise.all((plan.outputs ?? []).map((name) => linesOf(folder, name))))
    const outcome = { end, folder, attempts, output: text }
    const { check } = plan
    return {
      ...(await record.end(() => check?.(sandbox, outcome, record.change), (check?.length ?? 0) > 2)),
      what: 'program',
      outcome: { end, value: undefined, error, state: {}, context: undefined, attempts },
      counts: { assignment: 0, 'file write': numbers.get('writes'), 'file cut': numbers.get('cuts') },
      outputs,
      output: lines,
      hasMetFault,
      errors: [],
      uncaught: [],
      processes: numbers.get('processes'),
    }
  } finally {
    await group?.kill()
    await server.close()
    closeSync(output)
    numbers.close()
    await rm(root, { recursive: true, force: true })
  }
}

/** Waits until all processes of a program have ended. Stops a program that runs too long, and then returns why. */
async function watch(
  group: ProcessGroup,
  plan: ProgramPlan,
  numbers: SharedNumbers,
  server: SandboxHttpServer,
  isKilled: () => boolean,
) {
  const first = { requests: server.requests, timers: numbers.get('timers'), time: numbers.now }
  const minutes = plan.isReal ? patience.real : patience.simulated
  const last = { requests: server.requests, time: performance.now() }
  let exit: number | NodeJS.Signals | undefined
  const exiting = group.exited.then((value) => {
    exit = value
  })
  let why: string | undefined
  while (exit === undefined && why === undefined && !isKilled()) {
    await Promise.race([exiting, wait(20)])
    if (plan.signal?.aborted) await group.kill()
    throwIfAborted(plan.signal)
    if (server.requests > last.requests) Object.assign(last, { requests: server.requests, time: performance.now() })
    if (server.requests > first.requests + plan.maxRequests) why = `${plan.maxRequests} requests`
    else if (numbers.get('timers') > first.timers + maxTimers) why = `${maxTimers} timers had fired`
    else if (numbers.now > first.time + day) why = '24 simulated hours'
    else if (performance.now() > last.time + minutes * 60_000) why = `${minutes} minutes without a request`
  }
  if (why !== undefined) await group.kill()
  await exiting
  await group.ended()
  return { exit: exit ?? 'SIGKILL', why }
}

function prepareNumbers(path: string, start: number, injected: InjectedFault | undefined): SharedNumbers {
  const numbers = SharedNumbers.create(path)
  numbers.passTo(start)
  numbers.set('seed', start)
  if (injected === undefined) return numbers
  const { fault, at } = injected
  if (placeOf(fault) === 'file write') numbers.set('killedWrite', at)
  if (placeOf(fault) === 'file cut') numbers.set('killedCut', at)
  return numbers
}

function environmentOf({ env }: ProgramPlan, run: ProgramRun): NodeJS.ProcessEnv {
  const { url, token, folder } = run
  const own = env?.(run) ?? {}
  checkPlain('env', own, 'Return the variables as an object, without a promise.')
  const { NODE_OPTIONS = '' } = { ...process.env, ...own }
  return {
    ...process.env,
    // Always set, so that a program never uses the service and the token of this process.
    SUPPORT_WORKSPACE_URL: url,
    SUPPORT_WORKSPACE_TOKEN: token,
    SUPPORT_WORKSPACE_FOLDER: folder,
    ...own,
    NODE_OPTIONS: `${NODE_OPTIONS} --import=${preload.href}`.trim(),
  }
}

async function linesOf(folder: string, name: string): Promise<readonly [string, readonly string[]]> {
  const text = await readFile(join(folder, name), 'utf8').catch(() => '')
  return [name, text.split('\n').filter((line) => line !== '')]
}
