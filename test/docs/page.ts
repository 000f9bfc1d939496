import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Inside the project, so that the programs of a page resolve its packages. */
export const examplesFolder = `${root}test/docs/.examples`

/** A page of the documents, and what a reader copies from it. */
export interface Page {
  /** Path from the root of the project. */
  readonly path: string
  /** The files that its blocks add up to, by their names. */
  readonly files: ReadonlyMap<string, string>
  /** The packages that its lines `npm install …` name. */
  readonly packages: readonly string[]
}

const block = /^```(ts|js)\n([\s\S]*?)^```$/gm
const firstLine = /^\/\/ ([\w./+-]+\.(?:m?ts|mjs|js))( \(continued\))?\n/
const saveSentence = /^Save \[`[\s\S]*?(?=\n\n)/gm
const linkedFile = /\[`([^`]+)`\]\(([\w./-]+\.(?:md|ts))[^)]*\)/g

/**
 * Reads a page. A block of code begins with a comment that names its file. A second block of the same file says
 * `(continued)`. Throws if a block does not. A paragraph such as "Save [`support.mts`](login.md) in `src/lib`" adds a file
 * that another page shows, or a file of the project.
 */
export function readPage(path: string): Page {
  const text = readFileSync(root + path, 'utf8')
  const files = new Map<string, string>()
  for (const [, , code = ''] of text.matchAll(block)) {
    const [, name, continued] = firstLine.exec(code) ?? []
    if (name === undefined) throw new Error(`${path}: a block does not begin with \`// name.mts\`:\n${code}`)
    if (files.has(name) !== (continued !== undefined)) {
      throw new Error(`${path}: the first block of ${name} says "(continued)", or the second does not.`)
    }
    files.set(name, (files.get(name) ?? '') + code)
  }
  for (const [sentence] of text.matchAll(saveSentence)) {
    const [, folder = ''] = /\)\s+in `([^`]+)`/.exec(sentence) ?? []
    for (const [, name = '', other = ''] of sentence.matchAll(linkedFile)) {
      const target = join(dirname(path), other)
      const code = target.endsWith('.ts') ? readFileSync(root + target, 'utf8') : readPage(target).files.get(name)
      if (code === undefined) throw new Error(`${path}: ${other} shows no file ${name}.`)
      files.set(join(folder, name), code)
    }
  }
  const packages = [...text.matchAll(/^npm install (.+)$/gm)].flatMap(([, names = '']) =>
    names.split(/\s+/).filter((name) => !/^[-#.]|\.tgz$/.test(name)),
  )
  return { path, files, packages }
}

/** Returns a program of a page: its file, and the files of the page that it imports. */
export function programOf({ path, files }: Page, name: string): Map<string, string> {
  const program = new Map<string, string>()
  const add = (file: string) => {
    const code = files.get(file)
    if (code === undefined) throw new Error(`${path}: ${name} imports ${file}, which the page does not show.`)
    if (program.has(file)) return
    program.set(file, code)
    importsOf(file, code).forEach(add)
  }
  add(name)
  return program
}

/** Returns the files that the imports of other files of the page lead to. */
export function importsOf(name: string, code: string): string[] {
  return [...code.matchAll(/ (?:from|import\() ?'(\.[^']+)'/g)].map(([, path = '']) => {
    return new URL(path, `file:///${dirname(name)}/`).pathname.slice(1)
  })
}

/** Writes files into a folder. */
export async function writeFiles(files: ReadonlyMap<string, string>, folder: string): Promise<void> {
  for (const [name, code] of files) {
    await mkdir(dirname(`${folder}/${name}`), { recursive: true })
    await writeFile(`${folder}/${name}`, code)
  }
}
