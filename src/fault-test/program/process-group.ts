import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { InvalidArgumentError } from '../../errors/index.ts'

/** The groups that this process has started. A group outlives this process, so `killAtExit` kills it. */
const running = new Set<number>()
/** Real milliseconds that processes of a group can outlive the first process before they are killed. */
const patience = 2_000

/** The processes of a program: the first process, and all processes that it starts. */
export class ProcessGroup {
  /** Resolves when the first process has ended, with its exit code, or with the signal that killed the process. */
  readonly exited: Promise<number | NodeJS.Signals>
  readonly #id: number

  /** @param output the descriptor of the file that all processes print to */
  constructor([command = '', ...args]: readonly string[], cwd: string, env: NodeJS.ProcessEnv, output: number) {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', output, output] })
    this.#id = child.pid ?? 0
    if (child.pid !== undefined) running.add(child.pid)
    this.exited = once(child, 'exit').then(
      ([code, signal]) => code ?? signal,
      (cause) => {
        const hint = 'Pass a program and its arguments, as in `["node", "reply.mjs"]`.'
        throw new InvalidArgumentError('command', `${command} cannot be started: ${cause.message}.`, hint)
      },
    )
  }

  /** Kills all processes, and waits until they have ended. */
  async kill(): Promise<void> {
    killGroup(this.#id)
    await this.ended()
  }

  /** Waits until all processes have ended. Kills processes that are still running after two seconds. */
  async ended(): Promise<void> {
    for (let waited = 0; isRunning(this.#id, waited > 100); waited += 2) {
      if (waited === patience) killGroup(this.#id)
      await wait(2)
    }
    running.delete(this.#id)
  }
}

function killGroup(id: number): void {
  try {
    if (id > 0) process.kill(-id, 'SIGKILL')
  } catch {
    // All processes of the group have ended.
  }
}

/**
 * Returns whether a process of the group is running.
 *
 * @param isThorough whether to read `/proc`, so that zombies (processes that have ended, but are still listed) do not
 *   count
 */
function isRunning(id: number, isThorough: boolean): boolean {
  try {
    if (id > 0) process.kill(-id, 0)
  } catch {
    return false
  }
  if (id <= 0 || !isThorough || process.platform !== 'linux') return id > 0
  return readdirSync('/proc').some((name) => {
    try {
      const [state, , group] = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
      return Number(group) === id && state !== 'Z'
    } catch {
      return false
    }
  })
}

/** Kills all groups if this process ends or is interrupted. Returns a function that stops this. */
export function killAtExit(): () => void {
  const killAll = (): void => {
    for (const id of running) killGroup(id)
  }
  const killAndEnd = (signal: NodeJS.Signals): void => {
    killAll()
    stop()
    process.kill(process.pid, signal)
  }
  const stop = (): void => {
    process.off('exit', killAll)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, killAndEnd)
  }
  process.on('exit', killAll)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, killAndEnd)
  return stop
}
