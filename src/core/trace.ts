import { InvalidArgumentError, isSupportWorkspaceError } from '../errors/index.ts'
import { withoutSecrets } from '../errors/redact.ts'

/**
 * Errors that already have their stack. An error can pass through several calls, for example as the reason of a signal.
 */
const tracedErrors = /* @__PURE__ */ new WeakSet<object>()

/**
 * Gives an error of this package a stack that leads to the line of the caller, which the engine finds when the call
 * ends. The original stack can end in this package. Browsers from before 2025 keep it. Returns the thrown value.
 *
 * @param operation the id of the call, for the message of an invalid argument
 */
export function trace(thrown: unknown, operation?: unknown): unknown {
  if (!isSupportWorkspaceError(thrown) || tracedErrors.has(thrown) || !Object.isExtensible(thrown)) return thrown
  tracedErrors.add(thrown)
  if (thrown instanceof InvalidArgumentError && typeof operation === 'string' && operation !== '') {
    Reflect.set(thrown, 'message', `${withoutSecrets(operation)}: ${thrown.message}`)
  }
  Reflect.get(Error, 'captureStackTrace')?.(thrown, trace)
  return thrown
}

/**
 * Awaits a call that a method makes for several callers. The engine does not find all of them, so the method traces its
 * error again.
 */
export async function inner<Result>(call: PromiseLike<Result>): Promise<Result> {
  try {
    return await call
  } catch (thrown) {
    tracedErrors.delete(Object(thrown))
    throw thrown
  }
}

/** Runs a method whose error can come from far below, where the engine no longer finds the line of the caller. */
export async function traced<Result>(method: () => Result | PromiseLike<Result>): Promise<Result> {
  try {
    return await method()
  } catch (thrown) {
    throw trace(thrown)
  }
}
