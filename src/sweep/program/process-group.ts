import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { InvalidArgumentError } from '../../shared/errors/index.ts'

/** The groups that this process has started. They do not end with it, so it ends them. */
const running = new Set<number>()
/** Real milliseconds for what a program left behind, before it is killed. */
const patience = 2_000

/** The processes of a program: one that was started, and all that it starts. */
export class ProcessGroup {
  /** Settles when the first process has ended, with its exit code, or with the signal that it was killed by. */
  readonly exited: Promise<number | NodeJS.Signals>
  readonly #id: number

  /** @param output the file that all of them print to */
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

  /** Waits until all processes have ended. Kills those that outlive the first one for long. */
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
    // All of them have ended.
  }
}

/**
 * @param isThorough whether to tell zombies, which have ended but still have their exit code, from running processes
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

/** Kills the groups also if this process ends, or is interrupted. Returns a function that stops this. */
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
