import { closeSync, openSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { throwIfAborted } from '../../shared/abort.ts'
import { checkPlain } from '../../shared/check-options.ts'
import { type InjectedFault, placeOf } from '../faults.ts'
import type { Run } from '../run.ts'
import { SharedNumbers } from './clock-file.ts'
import { copyFolder } from './copy-folder.ts'
import { ProcessGroup } from './process-group.ts'
import type { ProgramExit, ProgramRun } from './program-options.ts'
import { type ProgramPlan, ProgramSandbox } from './program-sandbox.ts'

const maxStarts = 4
/** Maximum number of timers in one start, which take about half a minute to fire. */
const maxTimers = 10_000
const day = 86_400_000
/** Real minutes without a request after which a program is stopped. Until then the program might be computing. */
const patience = 5
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

/** Runs a program in a fresh sandbox, with a fault or without. Starts the program again like a supervisor. */
export async function runProgram(plan: ProgramPlan, injected: InjectedFault | undefined): Promise<Run> {
  const root = await mkdtemp(join(tmpdir(), 'fault-test-'))
  try {
    return await runIn(root, plan, injected)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

async function runIn(root: string, plan: ProgramPlan, injected: InjectedFault | undefined): Promise<Run> {
  const [folder, shared, printed] = [join(root, 'folder'), join(root, 'shared'), join(root, 'printed')]
  await mkdir(folder)
  if (plan.folder !== undefined) await copyFolder(plan.folder, folder)
  const numbers = SharedNumbers.create(shared, plan.start)
  const place = injected && placeOf(injected.fault)
  if (place === 'file write') numbers.set('killedWrite', injected?.at ?? 0)
  if (place === 'file cut') numbers.set('killedCut', injected?.at ?? 0)
  const server = new ProgramSandbox(plan, injected, numbers)
  const { sandbox } = server
  const output = openSync(printed, 'a')
  try {
    const url = await server.listen()
    const told = () => ({ url, token: server.token, folder })
    await plan.setup?.(sandbox, told())
    server.begin()
    const calls = await server.repeat(maxStarts, async () => {
      const env = { ...environmentOf(plan, told()), SUPPORT_WORKSPACE_FAULT_TEST: shared }
      server.isKilled = false
      server.group = new ProcessGroup(plan.command, plan.cwd ?? process.cwd(), env, output)
      const { exit, why } = await watch(server.group, plan, numbers, server)
      if (why !== undefined) return { words: `was stopped after ${why}`, end: 'never-ends' }
      const isKilledInWrite = exit === 'SIGKILL' && place !== undefined && place !== 'request'
      if (server.isKilled || isKilledInWrite) return { words: 'was killed', isKilled: true }
      const remedy = { ...defaultExits, ...plan.exits }[String(exit)]
      const words = `ended with ${typeof exit === 'number' ? `code ${exit}` : exit} (${remedy ?? 'a crash'})`
      return { words, remedy, ...(remedy === 'done' && { end: remedy }) }
    })
    const text = await readFile(printed, 'utf8')
    const lines = text
      .split('\n')
      .filter((line) => !aroundMessage.test(line))
      .slice(-shownLines)
    const outputs = new Map(await Promise.all((plan.outputs ?? []).map((name) => linesOf(folder, name))))
    const { end, attempts } = calls
    return {
      ...(await server.end(plan.check, { end, folder, attempts, output: text })),
      ...calls,
      what: 'program',
      counts: { assignment: 0, 'file write': numbers.get('writes'), 'file cut': numbers.get('cuts') },
      outputs,
      output: lines,
      uncaught: [],
    }
  } finally {
    await server.close()
    closeSync(output)
    numbers.close()
  }
}

/** Waits until all processes of a program have ended. Stops a program that runs too long, and then returns why. */
async function watch(group: ProcessGroup, plan: ProgramPlan, numbers: SharedNumbers, server: ProgramSandbox) {
  const first = { requests: server.requests, timers: numbers.get('timers'), time: numbers.now }
  const last = { requests: server.requests, time: performance.now() }
  let exit: number | NodeJS.Signals | undefined
  const exiting = group.exited.then((value) => {
    exit = value
  })
  let why: string | undefined
  while (exit === undefined && why === undefined && !server.isKilled) {
    await Promise.race([exiting, wait(20)])
    if (plan.signal?.aborted) await group.kill()
    throwIfAborted(plan.signal)
    if (server.requests > last.requests) Object.assign(last, { requests: server.requests, time: performance.now() })
    if (server.requests > first.requests + plan.maxRequests) why = `${plan.maxRequests} requests`
    else if (numbers.get('timers') > first.timers + maxTimers) why = `${maxTimers} timers had fired`
    else if (numbers.now > first.time + day) why = '24 simulated hours'
    else if (performance.now() > last.time + patience * 60_000) why = `${patience} minutes without a request`
  }
  if (why !== undefined) await group.kill()
  await exiting
  await group.ended()
  return { exit: exit ?? 'SIGKILL', why }
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
