import fs from 'node:fs'
import { isBuiltin, syncBuiltinESMExports } from 'node:module'
import { devNull } from 'node:os'
import type { SharedNumbers } from './clock-file.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown
type Methods = Record<string, Call | undefined>

// Captured before `killAtFileWrites` patches these functions.
const { writeSync, writeFileSync, appendFileSync } = fs

/** Functions that write the first half of what a call would write. They get the arguments of the call. */
const halves: Readonly<Record<string, (file: unknown, data: unknown, ...rest: unknown[]) => void>> = {
  write: (file, data, ...rest) => {
    const { bytes, position } = partOf(data, rest)
    writeSync(file as number, halfOf(bytes), 0, null, position)
  },
  // The last argument may be a callback.
  writeFile: (file, data, options) => writeFileSync(file as string, halfOf(toBytes(data)), optionsOf(options)),
  appendFile: (file, data, options) => appendFileSync(file as string, halfOf(toBytes(data)), optionsOf(options)),
}

/** Functions of `fs` that change a file, but cannot be cut in the middle. */
const others = ['writev', 'rename', 'rm', 'unlink', 'truncate', 'ftruncate', 'copyFile', 'cp']

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
  const strike = (writeHalf?: () => void): void => {
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
  const ofHandle: object = Object.getPrototypeOf(handle)
  await handle.close()
  for (const name of [...Object.keys(halves), ...others]) {
    const half = halves[name]
    const beforePath = (_: unknown, [file, data, ...rest]: unknown[]): void => {
      // Writes to stdout and stderr do not count.
      if (typeof file !== 'number' || file > 2) strike(half && (() => half(file, data, ...rest)))
    }
    for (const [target, full] of [
      [fs, name],
      [fs, `${name}Sync`],
      [fs.promises, name],
    ] as const) {
      patch(target, full, beforePath)
    }
    patch(ofHandle, name, (self, args) => {
      const fd = Reflect.get(self as object, 'fd')
      // The options of `writeFile` are none of `write`.
      strike(half && (() => (name === 'write' ? half(fd, args[0], ...args.slice(1)) : halves.write?.(fd, args[0]))))
    })
  }
  patchDatabases((sql) => {
    if (!/^\s*(select|pragma|begin|explain)\b/i.test(String(sql))) strike()
  }, patch)
  syncBuiltinESMExports()
}

/** Kills the process group of the program. The process of the fault test is in another group. */
function killProgram(): void {
  process.kill(0, 'SIGKILL')
}

/** Returns what `fs.write` would write, and where: it takes a text, or a part of a buffer, in two forms. */
function partOf(
  data: unknown,
  rest: readonly unknown[],
): { readonly bytes: Uint8Array; readonly position: number | null } {
  const numberOf = (value: unknown) => (typeof value === 'number' ? value : null)
  if (!ArrayBuffer.isView(data)) return { bytes: toBytes(data, rest[1]), position: numberOf(rest[0]) }
  const named = (typeof rest[0] === 'object' && rest[0]) || { offset: rest[0], length: rest[1], position: rest[2] }
  const { offset, length, position }: { offset?: unknown; length?: unknown; position?: unknown } = named
  const start = numberOf(offset) ?? 0
  const end = start + (numberOf(length) ?? data.byteLength - start)
  return { bytes: toBytes(data).subarray(start, end), position: numberOf(position) }
}

/** Returns the bytes of a text or a buffer. A stream has none yet. */
function toBytes(data: unknown, encoding?: unknown): Uint8Array {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  return Buffer.from(typeof data === 'string' ? data : '', typeof encoding === 'string' ? (encoding as 'utf8') : 'utf8')
}

function optionsOf(options: unknown): fs.WriteFileOptions {
  return typeof options === 'function' ? null : (options as fs.WriteFileOptions)
}

function halfOf(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, Math.floor(bytes.length / 2))
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
