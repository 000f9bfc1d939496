import { cp, readdir, readlink, realpath, rm, symlink } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { InvalidArgumentError } from '../../errors/index.ts'

/**
 * Copies a folder with its links: a link to a file of the folder leads to the copy of the file.
 *
 * Throws if the folder has what cannot be copied, such as a named pipe, or if a link leads out of it, because a program
 * that writes through its copy would change the original. Links below `node_modules` can lead out, as a package manager
 * creates them. A program only reads those.
 */
export async function copyFolder(from: string, to: string): Promise<void> {
  const root = await realpath(from)
  const links: { readonly copy: string; readonly target: string }[] = []
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = relative(root, path)
    if (entry.isFile() || entry.isDirectory()) continue
    if (!entry.isSymbolicLink()) {
      const problem = `The folder has something that is no file, folder or link: ${name}. It cannot be copied for each run.`
      throw new InvalidArgumentError('folder', problem, 'Move it away, or let the program create it.')
    }
    const told = resolve(entry.parentPath, await readlink(path))
    const target = await realpath(path).catch(() => told)
    const copy = join(to, name)
    if (`${target}${sep}`.startsWith(`${root}${sep}`)) {
      links.push({ copy, target: relative(dirname(copy), join(to, relative(root, target))) || '.' })
    } else if (dirname(name).split(sep).includes('node_modules')) {
      // A relative link to a file elsewhere would lead to another place from the copy.
      links.push({ copy, target })
    } else {
      throw new InvalidArgumentError(
        'folder',
        `The folder has a link that leads out of it: ${name}. A run would write through it into ${target}.`,
        'Replace the link by a copy of its target.',
      )
    }
  }
  await cp(root, to, { recursive: true, verbatimSymlinks: true })
  for (const { copy, target } of links) {
    await rm(copy)
    await symlink(target, copy)
  }
}
