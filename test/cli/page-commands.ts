// The commands that the README and the guides show.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))
export const program = 'npx --no -- support-workspace-sdk '
export const pages = globSync('{README.md,AGENTS.md,docs/*.md}', { cwd: root }).sort()

/** Each command with its page, without the name of the program. */
export const shellCommands = pages.flatMap((page) =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .flatMap(([, block = '']) => block.split('\n'))
    .filter((line) => line.startsWith(program))
    .map((line) => [page, line.slice(program.length).replace(/ [>#].*/, '')] as const),
)

/** Splits a line as a shell does. */
export function split(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([part]) => part.replaceAll("'", ''))
}
