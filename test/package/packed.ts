import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const execute = promisify(execFile)

/** A project with only this package, installed from its tarball. */
export interface Project {
  readonly folder: string
  /** Path of the installed package. */
  readonly installed: string
  /** Paths of the files in the tarball, sorted. */
  readonly files: readonly string[]
  /** Runs a program in the project and returns its output. Rejects with the output if it fails. */
  run(program: string, ...args: string[]): Promise<string>
  remove(): Promise<void>
}

/**
 * Packs the build, and unpacks the tarball into an empty project. Dependencies are links to those of this repository,
 * which are the versions of the lockfile, so the registry is not needed.
 */
export async function installPacked(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'support-workspace-sdk-'))
  const installed = join(folder, 'node_modules', 'support-workspace-sdk')
  const pack = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', folder]
  const [packed] = JSON.parse(await run(root, 'npm', ...pack))
  await mkdir(installed, { recursive: true })
  await run(folder, 'tar', '-xzf', join(folder, packed.filename), '--strip-components=1', '-C', installed)
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  for (const name of [...Object.keys(dependencies), '@opentelemetry/api', '@types/node', 'undici-types'])
    await link(folder, name)
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  return {
    folder,
    installed,
    files: packed.files.map(({ path }: { path: string }) => path).sort(),
    run: (program, ...args) => run(folder, program, ...args),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function link(folder: string, name: string): Promise<void> {
  const path = join(folder, 'node_modules', name)
  await mkdir(dirname(path), { recursive: true })
  await symlink(join(root, 'node_modules', name), path, 'junction')
}

async function run(folder: string, program: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, NODE_OPTIONS: '', npm_config_loglevel: 'error' }
  try {
    return (await execute(program, args, { cwd: folder, env, maxBuffer: 1e8 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout ?? ''}${stderr ?? String(error)}`)
  }
}
