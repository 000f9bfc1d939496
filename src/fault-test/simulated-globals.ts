import { AsyncLocalStorage } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { promisify } from 'node:util'
import { watchActivity } from './activity.ts'
import { type Scope, SimulatedTimer, scopes } from './simulated-time.ts'
import { watchUncaught } from './uncaught.ts'

type Callback = (...args: unknown[]) => void

let users = 0
let restore = (): void => {}

/**
 * Gives the code of every scope simulated timers, dates and random numbers. All other code keeps the real ones. Returns
 * a function that restores the globals when the last fault test has ended.
 */
export function simulateGlobals(): () => void {
  users += 1
  if (users === 1) restore = install()
  return () => {
    users -= 1
    if (users === 0) restore()
  }
}

/** Gives the whole process simulated timers, dates and random numbers, until it ends. */
export function simulateProcess(scope: Scope): void {
  scopeOfProcess = scope
  install()
}

let scopeOfProcess: Scope | undefined

function currentScope(): Scope | undefined {
  return scopeOfProcess ?? scopes.getStore()
}

function install(): () => void {
  const stops = [watchActivity(() => currentScope()?.clock.activity)]
  if (scopeOfProcess === undefined) stops.push(watchUncaught('unhandledRejection'), watchUncaught('uncaughtException'))
  const patch = (target: object, name: string, value: unknown): void => {
    const before = Object.getOwnPropertyDescriptor(target, name)
    Object.defineProperty(target, name, { writable: true, configurable: true, enumerable: true, ...before, value })
    stops.push(() => {
      // Other code can have patched the property since.
      if (Reflect.get(target, name) !== value) return
      Reflect.deleteProperty(target, name)
      if (before !== undefined) Object.defineProperty(target, name, before)
    })
  }
  const wait = waiting(timersPromises.setTimeout)
  const repeat = repeating(timersPromises.setInterval, wait)
  patch(timersPromises, 'setTimeout', wait)
  patch(timersPromises, 'setInterval', repeat)
  const waitForImmediate = waitingForImmediate(timersPromises.setImmediate)
  patch(timersPromises, 'setImmediate', waitForImmediate)
  patch(timersPromises.scheduler, 'yield', () => waitForImmediate())
  patch(timersPromises.scheduler, 'wait', (delay: number, options?: WaitOptions) => wait(delay, undefined, options))
  for (const target of [globalThis, timers]) {
    const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval } = target
    patch(target, 'setTimeout', Object.assign(starting(setTimeout, false), { [promisify.custom]: wait }))
    patch(target, 'setInterval', Object.assign(starting(setInterval, true), { [promisify.custom]: repeat }))
    const immediate = Object.assign(startingImmediate(setImmediate), { [promisify.custom]: waitForImmediate })
    patch(target, 'setImmediate', immediate)
    patch(target, 'clearTimeout', clearing(clearTimeout))
    patch(target, 'clearInterval', clearing(clearInterval))
  }
  const { now } = performance
  const { random } = Math
  const { now: realNow } = Date
  patch(performance, 'now', () => {
    const clock = currentScope()?.clock
    return clock === undefined ? now.call(performance) : clock.read() - clock.start
  })
  patch(Math, 'random', () => currentScope()?.clock.random() ?? random())
  // Only the promises show whether WebCrypto is working, because in Node 24 its pending requests look like ended ones.
  const subtle: object = Object.getPrototypeOf(crypto.subtle)
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(subtle))) {
    if (typeof value === 'function' && name !== 'constructor') patch(subtle, name, counted(value))
  }
  patch(
    globalThis,
    'Date',
    simulatedDate(Date, () => currentScope()?.clock.read() ?? realNow()),
  )
  patch(AbortSignal, 'timeout', timeoutSignal(AbortSignal.timeout))
  syncBuiltinESMExports()
  return () => {
    for (const stop of stops.reverse()) stop()
    syncBuiltinESMExports()
  }
}

function startTimer(scope: Scope, delay: unknown, run: () => void, repeats = false): SimulatedTimer {
  return scope.clock.add(new SimulatedTimer(scope, delay, AsyncLocalStorage.bind(run), repeats))
}

function starting(real: (run: Callback, delay?: number, ...args: unknown[]) => unknown, repeats: boolean) {
  return (run: Callback, delay?: number, ...args: unknown[]): unknown => {
    const scope = currentScope()
    if (scope === undefined || typeof run !== 'function') return real(run, delay, ...args)
    return startTimer(scope, delay, () => run(...args), repeats)
  }
}

function clearing(real: (timer?: never) => void) {
  return (timer?: unknown): void => {
    if (timer instanceof SimulatedTimer) timer.close()
    else real(timer as never)
  }
}

/**
 * Returns a real `setImmediate` that skips the callbacks of killed processes, so that their loops of immediates end.
 */
function startingImmediate(real: (run: Callback, ...args: unknown[]) => unknown): typeof real {
  return (run, ...args) => {
    const owner = currentScope()?.owner
    if (owner === undefined || typeof run !== 'function') return real(run, ...args)
    return real(() => {
      if (!owner.isEnded) run(...args)
    })
  }
}

function waitingForImmediate(real: typeof timersPromises.setImmediate): typeof real {
  return (value, options) => {
    const start = () => real(value, options)
    return currentScope()?.owner.whileAlive(start) ?? start()
  }
}

interface WaitOptions {
  readonly signal?: AbortSignal
}

type Wait = <Value>(delay?: number, value?: Value, options?: WaitOptions) => Promise<Value>

function waiting(real: typeof timersPromises.setTimeout): Wait {
  return <Value>(delay?: number, value?: Value, options?: WaitOptions) => {
    const scope = currentScope()
    if (scope === undefined) return real<Value>(delay, value, options)
    return new Promise<Value>((resolve, reject) => {
      const timer = startTimer(scope, delay, () => resolve(value as Value))
      const abort = (): void => {
        timer.close()
        // Rejects with Node's own error.
        real(0, value, options).catch(reject)
      }
      if (options?.signal?.aborted) abort()
      else options?.signal?.addEventListener('abort', abort, { once: true })
    })
  }
}

function repeating(real: typeof timersPromises.setInterval, wait: Wait) {
  return <Value>(delay?: number, value?: Value, options?: WaitOptions): AsyncIterable<Value> => {
    if (currentScope() === undefined) return real<Value>(delay, value, options)
    return (async function* () {
      for (;;) yield await wait(delay, value as Value, options)
    })()
  }
}

/** Returns a function whose pending promises count as real input and output. */
function counted(real: (...args: unknown[]) => Promise<unknown>): typeof real {
  return new Proxy(real, {
    apply(target, self, args) {
      const start = (): Promise<unknown> => Reflect.apply(target, self, args)
      return currentScope()?.clock.activity.during(`crypto.subtle.${target.name}`, start) ?? start()
    },
  })
}

export function simulatedDate(real: DateConstructor, read: () => number): DateConstructor {
  const now = (): number => Math.floor(read())
  return new Proxy(real, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: (target) => new target(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  })
}

function timeoutSignal(real: typeof AbortSignal.timeout): typeof AbortSignal.timeout {
  return (delay) => {
    const scope = currentScope()
    if (scope === undefined) return real.call(AbortSignal, delay)
    const controller = new AbortController()
    const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
    startTimer(scope, delay, () => controller.abort(reason)).unref()
    return controller.signal
  }
}
