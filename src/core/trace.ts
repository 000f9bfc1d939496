import { InvalidArgumentError, isSupportWorkspaceError } from '../shared/errors/index.ts'
import { withoutSecrets } from '../shared/errors/redact.ts'

/** Errors that have their stack. They can pass through other calls, for example as the reason of a signal. */
const tracedErrors = /* @__PURE__ */ new WeakSet<object>()

/** Runs a method that the caller awaits, and traces its error. */
export async function traced<Result>(method: () => Result | PromiseLike<Result>): Promise<Result> {
  try {
    return await method()
  } catch (thrown) {
    throw trace(thrown)
  }
}

/**
 * Awaits a call that this package makes for a method, which traces the error again: the stack of this one ends here.
 */
export async function inner<Result>(call: PromiseLike<Result>): Promise<Result> {
  try {
    return await call
  } catch (thrown) {
    tracedErrors.delete(Object(thrown))
    throw thrown
  }
}

/**
 * Gives an error of this package a stack that leads to the line of the caller. Must be called by the function that the
 * caller awaits, when it has failed: the engine then finds who awaits it. The stack that the error was made with would
 * end in this package. Returns what was thrown.
 *
 * @param operation the id of the call, for an invalid argument
 */
export function trace(thrown: unknown, operation?: string): unknown {
  if (!isSupportWorkspaceError(thrown) || tracedErrors.has(thrown)) return thrown
  tracedErrors.add(thrown)
  nameOperation(thrown, operation)
  const place: { readonly stack?: unknown } = {}
  ;(Error as CapturingError).captureStackTrace?.(place, trace)
  const frames = linesOf(place).filter((line) => /^ +at /.test(line))
  if (frames.length > 0) Reflect.set(thrown, 'stack', [`${thrown.name}: ${thrown.message}`, ...frames].join('\n'))
  return thrown
}

/** Puts the operation before the message of an invalid argument. */
export function nameOperation(thrown: unknown, operation: unknown): void {
  if (!(thrown instanceof InvalidArgumentError) || typeof operation !== 'string' || operation === '') return
  Reflect.set(thrown, 'message', `${withoutSecrets(operation)}: ${thrown.message}`)
}

/** The caller might have replaced how stacks are formatted. */
function linesOf(place: { readonly stack?: unknown }): string[] {
  try {
    return typeof place.stack === 'string' ? place.stack.split('\n') : []
  } catch {
    return []
  }
}

/** Absent in browsers from before 2025. */
interface CapturingError {
  readonly captureStackTrace?: (target: object, callee: (...args: never[]) => unknown) => void
}
