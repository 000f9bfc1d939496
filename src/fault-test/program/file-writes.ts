import fs from 'node:fs'
import { isBuiltin, syncBuiltinESMExports } from 'node:module'
import { devNull } from 'node:os'
import type { SharedNumbers } from './clock-file.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown
type Methods = Record<string, Call | undefined>

// Captured before `killAtFileWrites` patches these functions.
const { writeSync, writeFileSync, appendFileSync } = fs

/** Functions that write the first half of what a call would write. They get the arguments of the call, without a callback. */
const halves: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> = {
  write(file, data, ...rest) {
    if (!ArrayBuffer.isView(data)) return Reflect.apply(writeSync, fs, [file, halfOf(data), ...rest])
    const [first, second, third] = rest
    const named = (typeof first === 'object' && first) || { offset: first, length: second, position: third }
    const { offset, length, position } = named as { offset?: number; length?: number; position?: number }
    const start = offset ?? 0
    const half = Math.floor((length ?? data.byteLength - start) / 2)
    return Reflect.apply(writeSync, fs, [file, data, start, half, position])
  },
  writev(file, buffers, position) {
    return halves.write?.(file, Buffer.concat(buffers as Uint8Array[]), { position })
  },
  writeFile: (file, data, ...rest) => Reflect.apply(writeFileSync, fs, [file, halfOf(data), ...rest]),
  appendFile: (file, data, ...rest) => Reflect.apply(appendFileSync, fs, [file, halfOf(data), ...rest]),
}

/** A single statement of SQL that writes nothing. */
const reads = /^\s*(select|explain|begin|pragma(?![^;]*=))\b[^;]*;?\s*$/i

/** Functions of `fs` that change a file, but cannot be cut in the middle. */
const others = ['rename', 'rm', 'unlink', 'truncate', 'ftruncate', 'copyFile', 'cp']

/**
 * Counts the file writes of this process. Kills the program before the write `killedWrite`, or in the middle of
 * `killedCut`.
 */
export async function killAtFileWrites(numbers: SharedNumbers): Promise<void> {
  const count = (name: 'writes' | 'cuts', killed: 'killedWrite' | 'killedCut'): boolean => {
    numbers.set(name, numbers.get(name) + 1)
    return numbers.get(name) === numbers.get(killed)
  }
  /** Whether a function is running that calls others: `appendFileSync` calls `writeFileSync`, for example. */
  let isInside = false
  const beforeWrite = (writeHalf?: () => void): void => {
    if (isInside) return
    if (count('writes', 'killedWrite')) killProgram()
    if (writeHalf === undefined || !count('cuts', 'killedCut')) return
    writeHalf()
    killProgram()
  }
  const patch = (target: object, name: string, before: (self: unknown, args: unknown[]) => void): void => {
    const methods = target as Methods
    const real = methods[name]
    if (typeof real !== 'function') return
    methods[name] = function (...args) {
      before(this, args)
      const outer = isInside
      isInside = true
      try {
        return Reflect.apply(real, this, args)
      } finally {
        isInside = outer
      }
    }
  }
  const handle = await fs.promises.open(devNull)
  const Handle = handle.constructor as new () => object
  await handle.close()
  for (const name of [...Object.keys(halves), ...others]) {
    const half = halves[name]
    const beforePath = (_: unknown, [file, data, ...rest]: unknown[]): void => {
      // Writes to stdout and stderr do not count.
      const given = rest.filter((each) => typeof each !== 'function')
      // `fs.promises` also takes a handle.
      const place = Object(file) instanceof Handle ? Reflect.get(Object(file), 'fd') : file
      if (typeof file !== 'number' || file > 2) beforeWrite(half && (() => half(place, data, ...given)))
    }
    for (const [target, full] of [
      [fs, name],
      [fs, `${name}Sync`],
      [fs.promises, name],
    ] as const) {
      patch(target, full, beforePath)
    }
    patch(Handle.prototype, name, (self, [data, ...rest]) => {
      const fd = Reflect.get(self as object, 'fd')
      beforeWrite(half && (() => half(fd, data, ...rest)))
    })
  }
  patchDatabases((sql) => {
    if (!reads.test(String(sql))) beforeWrite()
  }, patch)
  syncBuiltinESMExports()
}

/** Kills the process group of the program. The process of the fault test is in another group. */
function killProgram(): void {
  process.kill(0, 'SIGKILL')
}

function halfOf(data: unknown): string | Uint8Array {
  // A stream has no first half yet.
  const whole = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : data
  return whole instanceof Uint8Array || typeof whole === 'string' ? whole.slice(0, whole.length / 2) : ''
}

function patchDatabases(
  onStatement: (sql: unknown) => void,
  patch: (target: object, name: string, before: (self: unknown, args: unknown[]) => void) => void,
): void {
  if (!isBuiltin('node:sqlite')) return
  const { emitWarning } = process
  // Some versions of Node print a warning when `node:sqlite` is loaded. The program
  // must print this warning only if it loads `node:sqlite` itself.
  process.emitWarning = () => {}
  const { DatabaseSync, StatementSync } = process.getBuiltinModule('node:sqlite')
  process.emitWarning = emitWarning
  patch(DatabaseSync.prototype, 'exec', (_, [sql]) => onStatement(sql))
  for (const name of ['run', 'get', 'all', 'iterate']) {
    patch(StatementSync.prototype, name, (self) => onStatement((self as { sourceSQL: string }).sourceSQL))
  }
}
