import { cp, mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Project } from './packed.ts'

const require = createRequire(import.meta.url)
const shared = fileURLToPath(new URL('../consumers/shared', import.meta.url))

/** The `package.json` of each supported compiler, by version. */
export const compilers: Readonly<Record<string, string>> = {
  '5.9': require.resolve('typescript-5.9/package.json'),
  '6.0': require.resolve('typescript/package.json'),
  '7.0': require.resolve('typescript-7/package.json'),
}

export interface Consumer {
  readonly type: 'module' | 'commonjs'
  readonly resolution: 'node16' | 'nodenext' | 'bundler'
  /** Names of the files to compile, in `test/consumers/shared`. */
  readonly files: readonly string[]
  /** The `lib` option. `skipLibCheck` is off, so the package's declarations are checked against it. */
  readonly lib: readonly string[]
  readonly types?: readonly string[]
}

/** Type-checks a project that uses the package. Rejects with the compiler's output. */
export async function compile(project: Project, compiler: string, name: string, consumer: Consumer): Promise<void> {
  const { type, resolution, files, lib, types = [] } = consumer
  const folder = join(project.folder, `consumer-${compiler}-${name}`)
  await mkdir(folder)
  for (const file of files) await cp(join(shared, file), join(folder, file))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type, private: true }))
  const compilerOptions = {
    target: 'ES2022',
    module: resolution === 'bundler' ? 'ESNext' : resolution,
    moduleResolution: resolution,
    lib,
    types,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    declaration: true,
    outDir: 'out',
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = join(dirname(compilers[compiler] ?? ''), 'bin', 'tsc')
  await project.run(process.execPath, tsc, '-p', folder)
}
