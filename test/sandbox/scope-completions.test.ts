import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { createSandbox } from '../../src/sandbox.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const file = `${root}test/sandbox/completed.ts`
const source = `
import { createSandbox } from 'support-workspace-sdk/sandbox'
const fromElsewhere: string = 'messages:read'
const sandbox = createSandbox({ app: { scopes: ['contacts:read', fromElsewhere] } })
sandbox.issueToken({ scopes: ['conversations:read', fromElsewhere] })
`

const service = createService()

test.each(['contacts:read', 'conversations:read'])('an editor completes every scope in place of %s', (typed) => {
  const position = source.indexOf(`'${typed}'`) + 1
  const names = service.getCompletionsAtPosition(file, position, {})?.entries.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining([...createSandbox().app.scopes]))
  expect(names).toHaveLength(16)
})

test('a scope of type string is accepted', () => {
  const problems = service.getSemanticDiagnostics(file).map(({ messageText }) => messageText)
  expect(problems).toEqual([])
})

function createService(): ts.LanguageService {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const read = (path: string) => (path === file ? source : ts.sys.readFile(path))
  return ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const text = read(path)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => path === file || ts.sys.fileExists(path),
    readFile: read,
  })
}
