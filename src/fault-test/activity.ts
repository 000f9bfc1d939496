import { createHook } from 'node:async_hooks'
import { hasManyCallbacks, isPending, kindOf } from './node-internals.ts'

/** The pending real input and output of the code in a scope. */
export class Activity {
  readonly #handles = new Set<number>()
  readonly #requests = new Map<unknown, { readonly type: string; readonly resource: object }>()
  readonly #realTime: () => number
  readonly #silence: number
  #lastActive = Number.NEGATIVE_INFINITY

  /**
   * @param realTime returns the real time in milliseconds; a long turn of the event loop counts as a short one
   * @param silence real milliseconds after which an open connection counts as idle
   */
  constructor(realTime: () => number, silence: number) {
    this.#realTime = realTime
    this.#silence = silence
  }

  /** Whether the code has opened a connection, even if the connection is closed now. */
  get hasHandles(): boolean {
    return this.#handles.size > 0
  }

  /** Returns the kinds of pending input and output, as Node names them, for example `FSREQCALLBACK`. */
  underWay(): readonly string[] {
    const types = this.#realTime() - this.#lastActive < this.#silence ? ['a connection'] : []
    for (const [id, { type, resource }] of this.#requests) {
      if (isPending(type, resource)) types.push(type)
      else if (!hasManyCallbacks(type)) this.#requests.delete(id)
    }
    return types
  }

  begin(id: number, type: string, resource: object): void {
    const kind = kindOf(type)
    if (kind === 'connection') this.#touch(id)
    else if (kind === 'operation') this.#requests.set(id, { type, resource })
  }

  /** Called before each callback. */
  proceed(id: number): void {
    if (this.#handles.has(id)) this.#touch(id)
    else if (!hasManyCallbacks(this.#requests.get(id)?.type ?? '')) this.#requests.delete(id)
  }

  /** Counts a promise as a request until it settles. */
  async during<Value>(type: string, start: () => Promise<Value>): Promise<Value> {
    const resource = {}
    this.#requests.set(resource, { type, resource })
    try {
      return await start()
    } finally {
      this.#requests.delete(resource)
    }
  }

  #touch(id: number): void {
    this.#handles.add(id)
    this.#lastActive = this.#realTime()
  }
}

/** Adds each new resource to the activity that `current` returns. Returns a function that ends this. */
export function watchActivity(current: () => Activity | undefined): () => void {
  const owners = new Map<number, Activity>()
  const hook = createHook({
    init(id, type, _trigger, resource) {
      const activity = type === 'PROMISE' ? undefined : current()
      if (activity === undefined) return
      owners.set(id, activity)
      activity.begin(id, type, resource)
    },
    // A hook for `destroy` would make promises slow. Without it, a closed connection soon counts as idle.
    before: (id) => owners.get(id)?.proceed(id),
    // Node 22 ignores this option and tracks promises, so a fault test takes twice as long there.
    trackPromises: false,
  }).enable()
  return () => void hook.disable()
}
