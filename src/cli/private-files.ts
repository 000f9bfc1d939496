import { chmod, lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { CommandError, usage } from './errors.ts'
import type { Io, Terminal } from './terminal.ts'

const packageName = 'support-workspace-sdk'

/** Returns the folder of the user's data, as each platform has it. */
export function dataFolder({ env, platform }: Pick<Io, 'env' | 'platform'>): string {
  const folderOf = (given: string | undefined, ...otherwise: string[]) =>
    join(given !== undefined && isAbsolute(given) ? given : join(homedir(), ...otherwise), packageName)
  if (platform === 'win32') return folderOf(env.LOCALAPPDATA, 'AppData', 'Local')
  if (platform === 'darwin') return folderOf(undefined, 'Library', 'Application Support')
  return folderOf(env.XDG_DATA_HOME, '.local', 'share')
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

/** Reads a file. Its errors have the path, which Node leaves out if it is a folder. */
export async function readBytes(path: string): Promise<Buffer> {
  return readFile(path).catch((thrown: Error) => Promise.reject(Object.assign(thrown, { path })))
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
  // An old file was left by a crash. A link could lead to a file of somebody else.
  await rm(`${path}.new`, { force: true })
  await writeFile(`${path}.new`, text, { flag: 'wx', mode: 0o600, flush: true })
  for (let waited = 0; ; waited += 50) {
    try {
      return await move(`${path}.new`, path)
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException
      const isHeld = platform === 'win32' && (code === 'EPERM' || code === 'EBUSY')
      if (!isHeld || waited >= longestWait) throw thrown
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
