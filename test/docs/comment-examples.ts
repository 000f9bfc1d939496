import { globSync, readFileSync } from 'node:fs'
import { root } from './page.ts'

/** An example of a docs comment. */
export interface Example {
  readonly title: string
  /** Path below the folder of the examples. */
  readonly path: string
  readonly code: string
}

const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const names = Object.keys(exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => `support-workspace-sdk${path.slice(1)}`)
const entries = await Promise.all(names.map(async (name) => [name, await import(/* @vite-ignore */ name)] as const))

/** Returns the `@example` of every docs comment in `src`, with imports of the exports that it uses. */
export function commentExamples(): Example[] {
  return globSync('src/**/*.ts', { cwd: root })
    .sort()
    .flatMap((file) =>
      [...readFileSync(root + file, 'utf8').matchAll(/^ *\* @example\b(.*\n(?: *\*(?! @)(?!\/).*\n)*)/gm)].map(
        ([, comment = ''], index) => {
          const code = comment.replaceAll(/^ *\* ?/gm, '')
          return {
            title: `${file} (${index + 1})`,
            path: `${file.replace(/\.ts$/, '')}-${index + 1}.ts`,
            code: `${importsFor(code)}\n${code}\nexport {}\n`,
          }
        },
      ),
    )
}

function importsFor(code: string): string {
  const imported = new Set<string>()
  return entries
    .map(([entry, exports]) => {
      const names = Object.keys(exports).filter((name) => new RegExp(`\\b${name}\\b`).test(code) && !imported.has(name))
      for (const name of names) imported.add(name)
      return names.length === 0 ? '' : `import { ${names.join(', ')} } from '${entry}'`
    })
    .join('\n')
}
