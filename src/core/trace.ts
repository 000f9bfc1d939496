import { InvalidArgumentError, isSupportWorkspaceError } from '../errors/index.ts'
import { withoutSecrets } from '../errors/redact.ts'

/**
 * Errors that already have their stack. An error can pass through several calls, for example as the reason of a signal.
 */
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
 * Awaits a call that this package makes for a method. The method traces the error again, so the stack of this call ends
 * here.
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
 * caller awaits, after the failure, because the engine then finds the awaiting line. The original stack of the error
 * would end in this package. Returns the thrown value.
 *
 * @param operation the id of the call, for an invalid argument
 */
export function trace(thrown: unknown, operation?: string): unknown {
  if (!isSupportWorkspaceError(thrown) || tracedErrors.has(thrown)) return thrown
  tracedErrors.add(thrown)
  nameOperation(thrown, operation)
  const place: { readonly stack?: unknown } = {}
  ;(Error as CapturingError).captureStackTrace?.(place, trace)
  const frames = framesOf(place)
  if (frames.length > 0) Reflect.set(thrown, 'stack', [`${thrown.name}: ${thrown.message}`, ...frames].join('\n'))
  return thrown
}

/** Puts the operation before the message of an invalid argument. */
export function nameOperation(thrown: unknown, operation: unknown): void {
  if (!(thrown instanceof InvalidArgumentError) || typeof operation !== 'string' || operation === '') return
  Reflect.set(thrown, 'message', `${withoutSecrets(operation)}: ${thrown.message}`)
}

/** Returns no frames if the engine has another format, or if the caller has replaced the function that formats stacks. */
function framesOf(place: { readonly stack?: unknown }): string[] {
  try {
    const lines = String(place.stack).split('\n')
    return lines.filter((line) => line.trimStart().startsWith('at '))
  } catch {
    return []
  }
}

/** Absent in browsers from before 2025. */
interface CapturingError {
  readonly captureStackTrace?: (target: object, callee: (...args: never[]) => unknown) => void
}
