// Writes what the package declares in public, without comments, so that each change of it is seen in a difference.
//
//   npm run api
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')

/** The file that holds the declarations as they were agreed to. */
export const publicApiFile = join(root, 'test/package/public-api.txt')

/** Returns the declarations that `scripts/declarations.ts` makes of the sources, without comments, one file after the other. */
export function publicApi(): string {
  const folder = mkdtempSync(join(tmpdir(), 'public-api-'))
  try {
    execFileSync(process.execPath, [join(root, 'scripts/declarations.ts'), folder])
    const printer = ts.createPrinter({ removeComments: true })
    const files = globSync('**/*.d.ts', { cwd: folder }).sort()
    const texts = files.map((path) => {
      const source = ts.createSourceFile(path, readFileSync(join(folder, path), 'utf8'), ts.ScriptTarget.ESNext)
      return `// ${path}\n${printer.printFile(source)}`
    })
    return texts.join('\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) writeFileSync(publicApiFile, publicApi())
