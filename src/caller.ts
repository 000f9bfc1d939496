import { isSupportWorkspaceError } from './errors/index.ts'

/** Puts the place of a call into the stack of an error of this package. Returns what was thrown. */
export type Locate = (thrown: unknown) => unknown

/**
 * Remembers where a method of this package was called. The stack of an error that a call rejects with would begin inside
 * the package, and after the first await would not lead to the caller at all. Formatted only for an error.
 *
 * @param callee the function up to which frames are left out
 * @param inside how many of the next frames belong to this package
 */
export function rememberCaller(callee: (...args: never[]) => unknown, inside: number): Locate {
  const place: { readonly stack?: string } = {}
  ;(Error as CapturingError).captureStackTrace?.(place, callee)
  return (thrown) => {
    // V8 prints a first line with the error, and indents the frames. Firefox prints only frames.
    const frames = place.stack
      ?.split('\n')
      .filter((line) => /^ +at |@/.test(line))
      .slice(inside)
    if (!isSupportWorkspaceError(thrown) || frames === undefined || frames.length === 0) return thrown
    const title = frames[0]?.startsWith(' ') ? [`${thrown.name}: ${thrown.message}`] : []
    thrown.stack = [...title, ...frames].join('\n')
    return thrown
  }
}

/** Absent in browsers from before 2025. */
interface CapturingError {
  readonly captureStackTrace?: (target: object, callee: (...args: never[]) => unknown) => void
}
