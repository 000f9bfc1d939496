import fs from 'node:fs'
import { isBuiltin, syncBuiltinESMExports } from 'node:module'
import { devNull } from 'node:os'
import type { SharedNumbers } from './clock-file.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown
type Methods = Record<string, Call | undefined>

// Captured before they are patched.
const { writeSync, writeFileSync, appendFileSync } = fs

/**
 * Writes the first half of what a call would write. The first argument is a path or a number, the second what to write.
 */
const halves = {
  write: (file: unknown, data: unknown) => writeSync(file as number, halfOf(data)),
  writeFile: (file: unknown, data: unknown) => writeFileSync(file as string, halfOf(data)),
  appendFile: (file: unknown, data: unknown) => appendFileSync(file as string, halfOf(data)),
}

/** Functions that change a file at once. */
const others = ['writev', 'rename', 'rm', 'unlink', 'truncate', 'ftruncate', 'copyFile', 'cp']

/** Counts the file writes of this process, and kills the program before one, or in the middle, as the numbers say. */
export async function killAtFileWrites(numbers: SharedNumbers): Promise<void> {
  const count = (name: 'writes' | 'cuts', killed: 'killedWrite' | 'killedCut'): boolean => {
    numbers.set(name, numbers.get(name) + 1)
    return numbers.get(name) === numbers.get(killed)
  }
  const strike = (writeHalf?: () => void): void => {
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
      return Reflect.apply(real, this, args)
    }
  }
  const handle = await fs.promises.open(devNull)
  const ofHandle: object = Object.getPrototypeOf(handle)
  await handle.close()
  for (const name of [...Object.keys(halves), ...others]) {
    const half = halves[name as keyof typeof halves] as (typeof halves)['write'] | undefined
    const beforePath = (_: unknown, [file, data]: unknown[]): void => {
      // The output of the program is not one of its files.
      if (typeof file !== 'number' || file > 2) strike(half && (() => half(file, data)))
    }
    for (const [target, full] of [
      [fs, name],
      [fs, `${name}Sync`],
      [fs.promises, name],
    ] as const) {
      patch(target, full, beforePath)
    }
    patch(ofHandle, name, (self, [data]) =>
      strike(half && (() => halves.write(Reflect.get(self as object, 'fd'), data))),
    )
  }
  patchDatabases((sql) => {
    if (!/^\s*(select|pragma|begin|explain)\b/i.test(String(sql))) strike()
  }, patch)
  syncBuiltinESMExports()
}

/** Kills the process group, of which the one that started it is no part. */
function killProgram(): void {
  process.kill(0, 'SIGKILL')
}

function halfOf(data: unknown): Uint8Array {
  const bytes = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : String(data)
  const buffer = Buffer.from(bytes as string)
  return buffer.subarray(0, Math.floor(buffer.length / 2))
}

function patchDatabases(
  onStatement: (sql: unknown) => void,
  patch: (target: object, name: string, before: (self: unknown, args: unknown[]) => void) => void,
): void {
  if (!isBuiltin('node:sqlite')) return
  const { emitWarning } = process
  // Loading it warns where it is experimental, which is for a program that does so itself.
  process.emitWarning = () => {}
  const { DatabaseSync, StatementSync } = process.getBuiltinModule('node:sqlite')
  process.emitWarning = emitWarning
  patch(DatabaseSync.prototype, 'exec', (_, [sql]) => onStatement(sql))
  for (const name of ['run', 'get', 'all', 'iterate']) {
    patch(StatementSync.prototype, name, (self) => onStatement((self as { sourceSQL: string }).sourceSQL))
  }
}
