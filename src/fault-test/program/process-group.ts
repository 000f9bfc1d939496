import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { InvalidArgumentError } from '../../errors/index.ts'

/** The groups that this process has started. A group outlives this process, so `killAtExit` kills it. */
const running = new Set<number>()
/** Real milliseconds that processes of a group can outlive the first process before they are killed. */
const patience = 2_000
/** Maximum real milliseconds that killed processes need to end. */
const longestKill = 200

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
    if (running.delete(this.#id)) send('SIGKILL', this.#id)
    // A process without a parent that collects it (a zombie) stays listed after its end.
    await this.#waitUntilEnded(longestKill)
  }

  /** Waits until all processes have ended. Kills processes that are still running after two seconds. */
  async ended(): Promise<void> {
    await this.#waitUntilEnded(patience)
    await this.kill()
  }

  async #waitUntilEnded(longest: number): Promise<void> {
    for (let waited = 0; waited < longest && send(0, this.#id); waited += 2) await wait(2)
  }
}

/** Sends a signal to a group. The signal 0 has no effect. Returns false if all processes of the group have ended. */
function send(signal: NodeJS.Signals | 0, id: number): boolean {
  try {
    return id > 0 && process.kill(-id, signal)
  } catch {
    return false
  }
}

/** Kills all groups if this process ends or is interrupted. Returns a function that stops this. */
export function killAtExit(): () => void {
  const killAll = (): void => {
    for (const id of running) send('SIGKILL', id)
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
