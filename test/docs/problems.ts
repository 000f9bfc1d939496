import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './page.ts'

/** Compiles files in strict mode, and returns the problems of those below a folder. */
export function problemsIn(files: readonly string[], folder: string): string[] {
  const project = mkdtempSync(join(tmpdir(), 'problems-'))
  const compilerOptions = { noUnusedLocals: false, typeRoots: [`${root}node_modules/@types`] }
  const settings = { extends: `${root}tsconfig.json`, compilerOptions, files, include: [] }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings))
  const compiler = `${root}node_modules/typescript-7/bin/tsc`
  const options = { cwd: folder, encoding: 'utf8' } as const
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', project, '--pretty', 'false'], options)
  rmSync(project, { recursive: true })
  // Paths are relative to the folder. Lines that begin with spaces explain the one before.
  return stdout.split('\n').filter((line) => line !== '' && !/^(\.\.\/|\s)/.test(line))
}
