// Writes what the package declares in public, without comments, so that each change of it is seen in a difference.
//
//   npm run api
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')

/** The file that holds the declarations as they were agreed to. */
export const publicApiFile = join(root, 'test/package/public-api.txt')

/** Returns the declarations of the build, without comments, one file after the other. */
export function publicApi(): string {
  const dist = join(root, 'dist')
  const printer = ts.createPrinter({ removeComments: true })
  const files = globSync('**/*.d.ts', { cwd: dist }).sort()
  const texts = files.map((path) => {
    const source = ts.createSourceFile(path, readFileSync(join(dist, path), 'utf8'), ts.ScriptTarget.ESNext)
    return `// ${path}\n${printer.printFile(source)}`
  })
  return texts.join('\n')
}

if (import.meta.main) writeFileSync(publicApiFile, publicApi())
