import { setImmediate, setTimeout } from 'node:timers'
import type { KeyValueStorage } from '../key-value/index.ts'

// Captured before anything is patched.
const [realImmediate, realTimeout] = [setImmediate, setTimeout]

/** After so many steps a real turn passes. Otherwise a job that repeats without a pause would block all other code. */
const stepsPerTurn = 100

/** The process that runs a job, until it is killed. The service is one that never is. */
export class JobProcess {
  isEnded = false
  readonly uncaught: unknown[]
  #steps = 0

  /** @param uncaught gets the unhandled errors */
  constructor(uncaught: unknown[]) {
    this.uncaught = uncaught
  }

  /** Kills the process. From now on, the actions of its code have no effect. */
  kill(): void {
    this.isEnded = true
  }

  /** Settles with a promise, unless the process is killed before. */
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

/** Lets promises resolve and real events arrive. */
export function turn(): Promise<void> {
  return new Promise((resolve) => realImmediate(() => resolve()))
}

/** Lets real input and output proceed, without computing meanwhile. */
export function nap(): Promise<void> {
  return new Promise((resolve) => realTimeout(() => resolve(), 1))
}

function never<Value>(): Promise<Value> {
  return new Promise(() => {})
}

/** What survives a kill: the values that were assigned to `state`, and the storage. */
export class Durable {
  readonly state: Record<string, unknown> = {}
  readonly #texts = new Map<string, string>()
  readonly #beforeAssignment: () => void

  /** @param beforeAssignment called before each assignment; it can kill the process */
  constructor(beforeAssignment: () => void) {
    this.#beforeAssignment = beforeAssignment
  }

  /** Returns a copy of the state, whose assignments survive. A process that was killed goes on with its copy. */
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

  /** Returns the storage. A process that was killed no longer reaches it. */
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
