import { randomUUID } from 'node:crypto'
import { constants, openSync, type Stats } from 'node:fs'
import { chmod, type FileHandle, lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { CommandError, usage } from './errors.ts'
import type { Io, Terminal } from './terminal.ts'

const packageName = 'support-workspace-sdk'

/** Returns the folder of the user's data, as each platform has it. */
export function dataFolder({ env, platform }: Pick<Io, 'env' | 'platform'>): string {
  const folderOf = (given: string | undefined, ...otherwise: string[]) =>
    join(given !== undefined && isAbsolute(given) ? given : join(homeOf(), ...otherwise), packageName)
  if (platform === 'win32') return folderOf(env.LOCALAPPDATA, 'AppData', 'Local')
  if (platform === 'darwin') return folderOf(undefined, 'Library', 'Application Support')
  return folderOf(env.XDG_DATA_HOME, '.local', 'share')
}

const elsewhere = 'Set XDG_DATA_HOME to a folder that you can write to, or SUPPORT_WORKSPACE_TOKEN.'

/** Returns the home folder. Node throws for a user without one, as containers have them. */
function homeOf(): string {
  try {
    return homedir()
  } catch {
    throw new CommandError(70, 'This user has no home folder.', elsewhere)
  }
}

/** Runs a function that writes below the folder of the user's data. Its errors name the path and the way out. */
export async function inDataFolder<Result>(path: string, use: () => Promise<Result>): Promise<Result> {
  try {
    return await use()
  } catch (thrown) {
    if (thrown instanceof CommandError) throw thrown
    const code = codeOf(thrown)
    if (code === undefined) throw thrown
    throw new CommandError(70, `${path} cannot be used: ${code}.`, elsewhere)
  }
}

/** Returns what a system or a database says about a file, in words without its text. */
function codeOf(thrown: unknown): string | undefined {
  for (let error: unknown = thrown; error instanceof Error; error = error.cause) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (/^E[A-Z]+$/.test(code)) return code
    if (/readonly/.test(message)) return 'it is read-only'
    if (/disk is full|disk I\/O/.test(message)) return 'the disk is full'
    if (/unable to open/.test(message)) return 'it cannot be opened'
    if (/not a database|malformed/.test(message)) return 'it is damaged'
  }
  return undefined
}

/**
 * Creates a folder and those above it. Node's own way never ends below `/proc`, where a folder that was not created is
 * reported as missing.
 */
export async function createFolder(path: string): Promise<void> {
  const make = () =>
    mkdir(path, { mode: 0o700 }).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EEXIST') throw thrown
    })
  await make().catch(async (thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'ENOENT' || dirname(path) === path) throw thrown
    await createFolder(dirname(path))
    await make()
  })
}

/**
 * Opens a file without following links, and checks on the handle that it is a regular file of this user, which has no
 * other name. Otherwise a file that somebody has prepared could lead to another one.
 *
 * @param flags those of `open`, such as `r` or `r+`
 */
export async function openOwn(path: string, flags: 'r' | 'r+'): Promise<FileHandle> {
  const access = flags === 'r' ? constants.O_RDONLY : constants.O_RDWR
  // Windows has neither this flag nor such links of other users.
  const handle = await open(path, access | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  try {
    checkOwn(path, await handle.stat())
    return handle
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
}

/** Throws unless a file is a regular file of this user with one name. */
function checkOwn(path: string, found: Stats, platform: string = process.platform): void {
  const problem = !found.isFile()
    ? 'is not a regular file'
    : platform !== 'win32' && found.uid !== process.getuid?.()
      ? 'belongs to another user'
      : found.nlink > 1
        ? 'has another name, to which it would be written as well'
        : undefined
  if (problem !== undefined) throw usage(`${path} ${problem}.`, 'Choose another file, or move this one away.')
}

/**
 * Corrects modes of a path that let other users in, and reports it. Returns whether it has.
 *
 * @throws CommandError for a symbolic link, and for a file of another user
 */
export async function makePrivate(path: string, kind: 'folder' | 'file', terminal: Terminal): Promise<boolean> {
  const found = await lstat(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (found === undefined) return false
  if (kind === 'folder' ? !found.isDirectory() : !found.isFile()) {
    const what = found.isSymbolicLink() ? 'a symbolic link' : `not a ${kind}`
    throw new CommandError(70, `${path} is ${what}.`, 'Move it away: tokens are not written through it.')
  }
  // Windows has no such modes. Access there is what the folder of the user inherits.
  if (terminal.io.platform === 'win32') return false
  if (found.uid !== process.getuid?.()) {
    throw new CommandError(
      70,
      `${path} belongs to another user.`,
      'Remove it, or set XDG_DATA_HOME to a folder of yours.',
    )
  }
  if (kind === 'file') checkOwn(path, found)
  if ((found.mode & 0o077) === 0) return false
  const mode = kind === 'folder' ? '0700' : '0600'
  await chmod(path, mode)
  const was = (found.mode & 0o777).toString(8).padStart(4, '0')
  terminal.note(`${path} was open to other users (mode ${was}), and is ${mode} now.`)
  return true
}

/** Throws unless this Node has SQLite, in which logins and journals are kept. */
export function requireSqlite(what: string): void {
  if (process.getBuiltinModule?.('node:sqlite') !== undefined) return
  throw usage(
    `${what} need Node 22.13 or later, and this is Node ${process.versions.node}.`,
    'Update Node, or set SUPPORT_WORKSPACE_TOKEN and SUPPORT_WORKSPACE_URL: the commands that only need a token run here.',
  )
}

/** Reads a file or a named pipe. Its errors have the path, which Node leaves out if it is a folder. */
export async function readBytes(path: string, signal: AbortSignal): Promise<Buffer> {
  const { O_RDONLY, O_NONBLOCK = 0 } = constants
  const read = async () => {
    if (!(await stat(path)).isFIFO()) return readFile(path)
    // Opening it otherwise waits for a writer, and nothing could interrupt that.
    const pipe = new Socket({ fd: openSync(path, O_RDONLY | O_NONBLOCK), writable: false })
    return buffer(addAbortSignal(signal, pipe)).finally(() => signal.throwIfAborted())
  }
  return read().catch((thrown: Error) => {
    signal.throwIfAborted()
    throw Object.assign(thrown, { path })
  })
}

const longestWait = 1_000

/**
 * Replaces a file in one step, so that a reader finds the old text or the new one, also after a crash.
 *
 * @param move renames a file. Windows refuses that while a virus scanner reads one of them, so it is repeated for a
 *   second.
 */
export async function replaceFile(
  path: string,
  text: string,
  platform: string = process.platform,
  move = rename,
): Promise<void> {
  // Another name could belong to somebody else.
  const next = `${path}.${randomUUID()}`
  try {
    await writeFile(next, text, { flag: 'wx', mode: 0o600, flush: true })
    for (let waited = 0; ; waited += 50) {
      try {
        return await move(next, path)
      } catch (thrown) {
        const { code } = thrown as NodeJS.ErrnoException
        const isHeld = platform === 'win32' && (code === 'EPERM' || code === 'EBUSY')
        if (!isHeld || waited >= longestWait) throw thrown
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  } catch (thrown) {
    await rm(next, { force: true })
    throw thrown
  }
}
