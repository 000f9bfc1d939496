import { InvalidArgumentError, isSupportWorkspaceError } from '../shared/errors/index.ts'
import { withoutSecrets } from '../shared/errors/redact.ts'

/** Puts the operation and the place of a call into an error of this package. Returns what was thrown. */
export type Locate = (thrown: unknown, operation?: unknown) => unknown

/** Errors that have a place. They may pass through other calls, for example as the reason of a signal. */
const located = /* @__PURE__ */ new WeakSet<object>()

/**
 * Remembers where a method of this package was called. The stack of an error that a call rejects with would begin inside
 * the package, and after the first await would not lead to the caller at all. Formatted only for an error.
 *
 * @param callee the function up to which frames are left out
 * @param inside how many of the next frames belong to this package
 */
export function rememberCaller(callee: (...args: never[]) => unknown, inside: number): Locate {
  const place: { readonly stack?: unknown } = {}
  ;(Error as CapturingError).captureStackTrace?.(place, callee)
  return (thrown, operation) => {
    if (!isSupportWorkspaceError(thrown) || located.has(thrown)) return thrown
    located.add(thrown)
    nameOperation(thrown, operation)
    // V8 prints a first line with the error, and indents the frames. Firefox prints only frames.
    const frames = linesOf(place)
      .filter((line) => /^ +at |@/.test(line))
      .slice(inside)
    const title = frames[0]?.startsWith(' ') ? [`${thrown.name}: ${thrown.message}`] : []
    if (frames.length > 0) Reflect.set(thrown, 'stack', [...title, ...frames].join('\n'))
    return thrown
  }
}

/** Puts the operation before the message of an invalid argument. */
export function nameOperation(thrown: unknown, operation: unknown): void {
  if (!(thrown instanceof InvalidArgumentError) || typeof operation !== 'string' || operation === '') return
  Reflect.set(thrown, 'message', `${withoutSecrets(operation)}: ${thrown.message}`)
}

/** The caller may have replaced how stacks are formatted. */
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
