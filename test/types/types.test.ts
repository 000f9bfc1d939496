import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'

const folder = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const typeTests = readdirSync(folder).filter((name) => name.endsWith('.test-d.ts'))

let diagnostics: readonly ts.Diagnostic[]

beforeAll(() => {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const host = ts.createCompilerHost(options)
  const { readFile, fileExists } = host
  // Code with type errors is in text files, so that the project's own type check skips it.
  const toText = (path: string) => path.replace(/(reply|in-place)\.ts$/, '$1.txt')
  host.readFile = (path) => readFile(toText(path))
  host.fileExists = (path) => fileExists(toText(path))
  const files = [...typeTests, 'reply.ts', 'in-place.ts'].map((name) => `${folder}${name}`)
  const program = ts.createProgram(files, options, {
    ...host,
    getSourceFile: (path, target) => {
      const text = host.readFile(path)
      return text === undefined ? undefined : ts.createSourceFile(path, text, target)
    },
  })
  diagnostics = ts.getPreEmitDiagnostics(program).filter(({ file }) => file?.fileName.startsWith(folder))
}, 180_000)

function print(problems: readonly ts.Diagnostic[]): string {
  return ts.formatDiagnostics(problems, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => folder,
    getNewLine: () => '\n',
  })
}

test.each(typeTests)('%s compiles, except for the lines that must not', (name) => {
  expect(print(diagnostics.filter(({ file }) => file?.fileName.endsWith(name)))).toBe('')
})

test.each([
  ['an authoring call on an app client', 'reply.ts', 'app-client-error.txt'],
  ['a client or an operation that is written in place', 'in-place.ts', 'in-place-error.txt'],
])('the compiler error for %s is readable', async (_, file, expected) => {
  const printed = print(diagnostics.filter(({ file: source }) => source?.fileName.endsWith(file)))
  await expect(printed).toMatchFileSnapshot(expected)
})
