import { globSync, readFileSync } from 'node:fs'
import * as main from 'support-workspace-sdk'
import * as journal from 'support-workspace-sdk/journal'
import * as oauth from 'support-workspace-sdk/oauth'
import * as otel from 'support-workspace-sdk/otel'
import * as sandbox from 'support-workspace-sdk/sandbox'
import * as storage from 'support-workspace-sdk/storage'
import * as storageTests from 'support-workspace-sdk/storage-tests'
import * as sweep from 'support-workspace-sdk/sweep'
import { type Example, root } from './examples.ts'

const entries = Object.entries({
  'support-workspace-sdk': main,
  'support-workspace-sdk/journal': journal,
  'support-workspace-sdk/oauth': oauth,
  'support-workspace-sdk/otel': otel,
  'support-workspace-sdk/sandbox': sandbox,
  'support-workspace-sdk/storage': storage,
  'support-workspace-sdk/storage-tests': storageTests,
  'support-workspace-sdk/sweep': sweep,
})

/** Returns the `@example` of every docs comment in `src`, with imports of the exports that it uses. */
export function commentExamples(): Example[] {
  return globSync('src/**/*.ts', { cwd: root })
    .sort()
    .flatMap((file) =>
      [...readFileSync(root + file, 'utf8').matchAll(/^ *\* @example\n((?: *\*(?! @)(?!\/).*\n)+)/gm)].map(
        ([, comment = ''], index) => {
          const code = comment.replaceAll(/^ *\* ?/gm, '')
          return {
            title: `${file} (${index + 1})`,
            path: `comments/${file.replace(/\.ts$/, '')}-${index + 1}.ts`,
            code: `${importsFor(code)}\n${code}`,
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
