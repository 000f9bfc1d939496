import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** The example with all of its processes, as `npm start` runs it. */
export class FleetProcess {
  readonly #supervisor: ChildProcess
  #isStopping = false
  /** How many processes have ended that nobody killed. */
  unexpectedEnds = 0
  takeovers = 0
  readonly events = new Map<string, number>()
  /** What the processes have printed. */
  readonly lines: string[] = []
  /** The exit code, once all of it has ended. */
  readonly ended: Promise<number | null>

  /** `log` is a file for what the processes print. */
  constructor(environment: NodeJS.ProcessEnv, log?: string) {
    const path = fileURLToPath(new URL('../../examples/fleet-sync/start.ts', import.meta.url))
    const env = { ...process.env, ...environment }
    this.#supervisor = spawn(process.execPath, [path], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    this.ended = once(this.#supervisor, 'close').then(([code]) => code)
    this.#supervisor.once('exit', () => {
      if (!this.#isStopping) this.unexpectedEnds += 1
    })
    const file = log === undefined ? undefined : createWriteStream(log, { flags: 'a' })
    createInterface({ input: this.#supervisor.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      file?.write(`${line}\n`)
      this.lines.push(line)
      const { event, signal } = line.startsWith('{') ? JSON.parse(line) : { event: 'other' }
      this.events.set(event, (this.events.get(event) ?? 0) + 1)
      if (event === 'stalled') this.takeovers += 1
      if (event === 'worker ended' && signal !== 'SIGKILL') this.unexpectedEnds += 1
    })
  }

  /** The process ids of the supervisor and its workers. */
  all(): number[] {
    return [this.#supervisor.pid ?? 0, ...this.workers()]
  }

  /** The process ids of the workers. */
  workers(): number[] {
    try {
      const pids = execFileSync('ps', ['--ppid', String(this.#supervisor.pid), '-o', 'pid='], { encoding: 'utf8' })
      return pids.trim().split(/\s+/).map(Number)
    } catch {
      return []
    }
  }

  kill(pid: number): void {
    process.kill(pid, 'SIGKILL')
  }

  /** Ends all processes, if they still run, without giving them time. */
  killAll(): void {
    if (this.#supervisor.exitCode !== null) return
    this.#isStopping = true
    for (const pid of this.all()) this.kill(pid)
  }

  async pause(pid: number, milliseconds: number): Promise<void> {
    process.kill(pid, 'SIGSTOP')
    await setTimeout(milliseconds)
    try {
      process.kill(pid, 'SIGCONT')
    } catch {
      // It was killed meanwhile.
    }
  }

  /** Ends all processes, as Ctrl-C does. Returns the exit code. */
  async stop(): Promise<number | null> {
    this.#isStopping = true
    if (this.#supervisor.exitCode === null && this.#supervisor.signalCode === null) {
      const ended = once(this.#supervisor, 'exit')
      this.#supervisor.kill('SIGTERM')
      await ended
    }
    return this.#supervisor.exitCode
  }
}
