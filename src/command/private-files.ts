import { chmod, lstat, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { CommandError, usage } from './errors.ts'
import type { Io } from './terminal.ts'

const packageName = 'support-workspace-sdk'

/** Returns the folder of the user's data, as each platform has it. */
export function dataFolder({ env, platform }: Pick<Io, 'env' | 'platform'>): string {
  const folderOf = (given: string | undefined, ...otherwise: string[]) =>
    join(given !== undefined && isAbsolute(given) ? given : join(homedir(), ...otherwise), packageName)
  if (platform === 'win32') return folderOf(env.LOCALAPPDATA, 'AppData', 'Local')
  if (platform === 'darwin') return folderOf(undefined, 'Library', 'Application Support')
  return folderOf(env.XDG_DATA_HOME, '.local', 'share')
}

/** Creates a folder that only its user can read, or checks it. Returns a sentence if its modes were changed. */
export async function preparePrivateFolder(folder: string, platform: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return checkPrivate(folder, 'folder', 0o700, platform)
}

/** Checks that only its user can read a file, if it exists. Returns a sentence if its modes were changed. */
export function checkPrivateFile(file: string, platform: string): Promise<readonly string[]> {
  return checkPrivate(file, 'file', 0o600, platform)
}

/** Corrects modes that let other users in. Throws for a symbolic link and for a file of another user. */
async function checkPrivate(path: string, kind: 'folder' | 'file', mode: number, platform: string): Promise<string[]> {
  const found = await lstat(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (found === undefined) return []
  if (kind === 'folder' ? !found.isDirectory() : !found.isFile()) {
    const what = found.isSymbolicLink() ? 'a symbolic link' : `not a ${kind}`
    throw new CommandError(70, `${path} is ${what}.`, 'Move it away: tokens are not written through it.')
  }
  // Windows has no such modes. Access there is what the folder of the user inherits.
  if (platform === 'win32') return []
  if (found.uid !== process.getuid?.()) {
    throw new CommandError(
      70,
      `${path} belongs to another user.`,
      'Remove it, or set XDG_DATA_HOME to a folder of yours.',
    )
  }
  if ((found.mode & 0o077) === 0) return []
  await chmod(path, mode)
  const was = (found.mode & 0o777).toString(8).padStart(4, '0')
  return [`${path} was open to other users (mode ${was}), and is ${mode.toString(8).padStart(4, '0')} now.`]
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
export async function replaceFile(path: string, text: string, platform: string, move = rename): Promise<void> {
  // An old file was left by a crash. A link could lead to a file of somebody else.
  await rm(`${path}.new`, { force: true })
  const file = await open(`${path}.new`, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
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
