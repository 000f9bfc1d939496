import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
/** Inside the project, so that the examples resolve what a reader's project would. */
export const examplesFolder = `${root}test/readme/.examples`

/** A file of example code. */
export interface Example {
  readonly title: string
  /** Path below the folder of the examples. */
  readonly path: string
  readonly code: string
}

/** The guides that have examples, such as `pagination.md`. */
export const guides = readdirSync(`${root}docs`).filter((name) => examplesOf(name).length > 0)

/** Returns one example for each `ts` block of the README, or of another page, named by its section. */
export function readmeExamples(page = 'README.md'): Example[] {
  return blocksOf(readFileSync(root + page, 'utf8')).map(({ section, code }, index) => {
    const name = section.toLowerCase().replaceAll(/[^a-z]+/g, '-')
    return { title: `${section} (${index + 1})`, path: `readme/${index + 1}-${name}.ts`, code }
  })
}

/**
 * Returns the files that the `ts` blocks of a guide add up to. A block whose first line is a comment with a path is a file
 * of its own. The others are `main.ts`, in their order.
 */
export function examplesOf(guide: string): Example[] {
  const files = new Map<string, string>()
  for (const { code } of blocksOf(readFileSync(`${root}docs/${guide}`, 'utf8'))) {
    const [, name = 'main.ts'] = /^\/\/ ([\w./+-]+\.m?ts)\n/.exec(code) ?? []
    files.set(name, (files.get(name) ?? '') + code)
  }
  const folder = guide.replace('.md', '')
  return [...files].map(([name, code]) => ({ title: `${guide}: ${name}`, path: `${folder}/${name}`, code }))
}

/** Whether an example needs the packages of `test/engines`, where it is compiled and run. */
export function needsEngine({ path }: Example): boolean {
  return /^bullmq\/(inngest|trigger|temporal)\.ts$/.test(path)
}

function blocksOf(markdown: string): { readonly section: string; readonly code: string }[] {
  let section = ''
  return [...markdown.matchAll(/^#+ (.+)$|^```ts\n([\s\S]*?)^```$/gm)].flatMap(([, heading, code]) => {
    section = heading ?? section
    return code === undefined ? [] : [{ section, code }]
  })
}

/** Writes examples into a folder. */
export async function writeExamples(folder: string, examples: readonly Example[]): Promise<void> {
  for (const { path, code } of examples) {
    await mkdir(dirname(`${folder}/${path}`), { recursive: true })
    await writeFile(`${folder}/${path}`, `${code}\nexport {}\n`)
  }
}
