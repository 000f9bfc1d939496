import { createHook } from 'node:async_hooks'

/** What stays open. Whether it is in use cannot be seen, only when it last was. */
const handles = /^(TCPWRAP|TLSWRAP|PIPEWRAP|UDPWRAP|MESSAGEPORT|HTTPCLIENTREQUEST)$/
/** What ends with a callback, such as reading a file. Compression has one for each part. */
const requests =
  /^(Immediate|PROCESSWRAP|WORKER|ZLIB)$|(REQCALLBACK|REQPROMISE|REQWRAP|REQUEST|CONNECTWRAP|QUERYWRAP|SENDWRAP|WRITEWRAP|SHUTDOWNWRAP|CLOSEREQ)$/

/** The real input and output that the code of a scope has under way. */
export class Activity {
  readonly #handles = new Set<number>()
  readonly #requests = new Map<unknown, { readonly type: string; readonly resource: object }>()
  readonly #realTime: () => number
  readonly #silence: number
  #lastActive = Number.NEGATIVE_INFINITY

  /**
   * @param realTime in milliseconds; a turn that took long counts little
   * @param silence milliseconds after which an open connection counts as idle
   */
  constructor(realTime: () => number, silence: number) {
    this.#realTime = realTime
    this.#silence = silence
  }

  /** Whether the code has opened a connection, which might be closed again. */
  get hasHandles(): boolean {
    return this.#handles.size > 0
  }

  /** Returns what is under way, by the names that Node has for it. */
  underWay(): readonly string[] {
    const types = this.#realTime() - this.#lastActive < this.#silence ? ['a connection'] : []
    for (const [id, { type, resource }] of this.#requests) {
      if (isUnderWay(type, resource)) types.push(type)
      else if (type !== 'ZLIB') this.#requests.delete(id)
    }
    return types
  }

  begin(id: number, type: string, resource: object): void {
    if (handles.test(type)) this.#touch(id)
    else if (requests.test(type)) this.#requests.set(id, { type, resource })
  }

  /** Called before each callback. */
  proceed(id: number): void {
    if (this.#handles.has(id)) this.#touch(id)
    else if (this.#requests.get(id)?.type !== 'ZLIB') this.#requests.delete(id)
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

/**
 * An immediate might have been cleared, cryptography might have ended at once, and compression might have nothing to
 * do.
 */
function isUnderWay(type: string, resource: object): boolean {
  if (type === 'Immediate') return typeof Reflect.get(resource, '_onImmediate') === 'function'
  if (type === 'ZLIB') return Boolean(Reflect.get(resource, 'buffer'))
  return !type.endsWith('REQUEST') || Reflect.has(resource, 'ondone')
}

/** Watches what is opened, by the activity that it belongs to. Returns a function that ends it. */
export function watchActivity(current: () => Activity | undefined): () => void {
  const owners = new Map<number, Activity>()
  const hook = createHook({
    init(id, type, _trigger, resource) {
      const activity = type === 'PROMISE' ? undefined : current()
      if (activity === undefined) return
      owners.set(id, activity)
      activity.begin(id, type, resource)
    },
    // Without `destroy`, which makes promises slow: a connection that was closed is silent.
    before: (id) => owners.get(id)?.proceed(id),
    // Node 22 ignores this option. There, a sweep takes twice as long.
    trackPromises: false,
  }).enable()
  return () => void hook.disable()
}
