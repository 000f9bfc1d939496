import { cp, readdir, readlink, realpath, rm, symlink } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { InvalidArgumentError } from '../../errors/index.ts'

/**
 * Throws if the folder has what cannot be copied, such as a named pipe, or if a link leads out of it, because a program
 * that writes through its copy would change the original. Links below `node_modules` can lead out, as a package manager
 * creates them. A program only reads those.
 */
export async function checkCopyable(folder: string): Promise<void> {
  const root = await realpath(folder)
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const unfit = entries.find((each) => !each.isFile() && !each.isDirectory() && !each.isSymbolicLink())
  if (unfit !== undefined) {
    const name = relative(root, join(unfit.parentPath, unfit.name))
    const problem = `The folder has something that is no file, folder or link: ${name}. It cannot be copied for each run.`
    throw new InvalidArgumentError('folder', problem, 'Move it away, or let the program create it.')
  }
  const outside = (await linksOf(folder)).find(({ name, isInside }) => {
    return !isInside && !dirname(name).split(sep).includes('node_modules')
  })
  if (outside === undefined) return
  throw new InvalidArgumentError(
    'folder',
    `The folder has a link that leads out of it: ${outside.name}. A run would write through it into ${outside.target}.`,
    'Replace the link by a copy of its target.',
  )
}

/** Copies a folder with its links: a link to a file of the folder leads to the copy of the file. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await cp(await realpath(from), to, { recursive: true, verbatimSymlinks: true })
  for (const { name, target, isInside } of await linksOf(from)) {
    const copy = join(to, name)
    await rm(copy)
    // A relative link to a file elsewhere would lead to another place from the copy.
    const inCopy = join(to, relative(await realpath(from), target))
    await symlink(isInside ? relative(dirname(copy), inCopy) || '.' : target, copy)
  }
}

/** Returns the symbolic links in a folder: the path of each below the folder, and the absolute path of its target. */
async function linksOf(folder: string) {
  const root = await realpath(folder)
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const links = entries.filter((entry) => entry.isSymbolicLink())
  return Promise.all(
    links.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name)
      const told = resolve(parentPath, await readlink(path))
      const target = await realpath(path).catch(() => told)
      return { name: relative(root, path), target, isInside: `${target}${sep}`.startsWith(`${root}${sep}`) }
    }),
  )
}
