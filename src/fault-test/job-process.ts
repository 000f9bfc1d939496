import { setImmediate, setTimeout } from 'node:timers'
import type { KeyValueStorage } from '../storage/interface.ts'

// Captured before anything is patched.
const [realImmediate, realTimeout] = [setImmediate, setTimeout]

/**
 * Number of steps after which the event loop gets a real turn, because a job that repeats without a pause would block
 * it.
 */
const stepsPerTurn = 100

/** The simulated process that runs a job. The sandbox has such a process as well, which is never killed. */
export class JobProcess {
  isEnded = false
  readonly uncaught: unknown[]
  #steps = 0

  /** @param uncaught receives unhandled errors */
  constructor(uncaught: unknown[]) {
    this.uncaught = uncaught
  }

  /**
   * Kills the process. Its code can still run, but from now on has no effect on requests, the state and the storage.
   */
  kill(): void {
    this.isEnded = true
  }

  /** Returns the result of `start`. Stays pending if the process is killed first. */
  async whileAlive<Value>(start: () => Value | PromiseLike<Value>): Promise<Value> {
    this.#steps += 1
    if (this.#steps % stepsPerTurn === 0) await turn()
    if (this.isEnded) return never()
    try {
      const value = await start()
      return this.isEnded ? never() : value
    } catch (error) {
      if (this.isEnded) return never()
      throw error
    }
  }
}

/** Waits for one turn of the event loop, in which promises continue and real events arrive. */
export function turn(): Promise<void> {
  return new Promise((resolve) => realImmediate(() => resolve()))
}

/** Waits a real millisecond for input and output, without using the processor. */
export function nap(): Promise<void> {
  return new Promise((resolve) => realTimeout(() => resolve(), 1))
}

function never<Value>(): Promise<Value> {
  return new Promise(() => {})
}

/** The data that survives a kill: the values that were assigned to `state`, and the storage. */
export class Durable {
  readonly state: Record<string, unknown> = {}
  readonly #texts = new Map<string, string>()
  readonly #beforeAssignment: () => void

  /** @param beforeAssignment called before each assignment; can kill the process */
  constructor(beforeAssignment: () => void) {
    this.#beforeAssignment = beforeAssignment
  }

  /** Returns a copy of the state. Assignments to the copy change the state as well until the process is killed. */
  stateFor(owner: JobProcess): Record<string, unknown> {
    const assign = (change: () => void): void => {
      if (!owner.isEnded) this.#beforeAssignment()
      if (!owner.isEnded) change()
    }
    return new Proxy(structuredClone(this.state), {
      defineProperty: (copy, name, descriptor) => {
        const value: unknown = structuredClone(descriptor.value)
        assign(() => Reflect.set(this.state, name, value))
        return Reflect.set(copy, name, descriptor.value)
      },
      deleteProperty: (copy, name) => {
        assign(() => Reflect.deleteProperty(this.state, name))
        return Reflect.deleteProperty(copy, name)
      },
    })
  }

  /** Returns the storage for a process. After a kill, its calls stay pending. */
  storageFor(owner: JobProcess): KeyValueStorage {
    const texts = this.#texts
    return {
      get: (key) => owner.whileAlive(() => texts.get(key)),
      compareAndSet: (key, expected, value) =>
        owner.whileAlive(() => {
          this.#beforeAssignment()
          if (owner.isEnded || (texts.get(key) ?? null) !== expected) return false
          if (value === null) texts.delete(key)
          else texts.set(key, value)
          return true
        }),
      async *list(prefix) {
        yield await owner.whileAlive(() => [...texts].filter(([key]) => key.startsWith(prefix)))
      },
    }
  }
}
