import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { beforeAll, expect, test } from 'vitest'
import { createSandbox } from '../../src/sandbox/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const file = `${root}test/types/edited.ts`
const source = `
import { defineOperation, type SupportWorkspace } from 'support-workspace-sdk'
import { createSandbox } from 'support-workspace-sdk/sandbox'
declare const self: SupportWorkspace<'self'>
declare const app: SupportWorkspace<'app'>
declare const any: SupportWorkspace
const shout = defineOperation({ id: 'shout', method: 'POST', path: '/shout', actor: 'self' })
self.messages.create('c', { body_html: '' })
any.members.invite({ email: '' })
app.conversations.list()
self.call(shout)
any.tasks.create({})
const fromElsewhere: string = 'messages:read'
const sandbox = createSandbox({ app: { scopes: ['contacts:read', fromElsewhere] } })
sandbox.issueToken({ scopes: ['conversations:read', fromElsewhere] })
`

let service: ts.LanguageService

beforeAll(() => {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const read = (path: string) => (path === file ? source : ts.sys.readFile(path))
  service = ts.createLanguageService({
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
}, 180_000)

/** Returns what an editor shows when hovering over the method of a call. */
function hover(call: string): string {
  const position = source.indexOf(call) + call.lastIndexOf('.') + 1
  return ts.displayPartsToString(service.getQuickInfoAtPosition(file, position)?.displayParts)
}

test.each([
  ['self.messages.create', 'conversationId: string, body: CreateMessageBody'],
  ['any.members.invite', 'body: InviteMemberBody'],
  ['app.conversations.list', 'query?: ListQuery'],
  ['self.call', 'operation:'],
  ['any.tasks.create', 'body: CreateTaskBody'],
])('an editor shows %s as one signature and without `this: unknown`', (call, parameters) => {
  const shown = hover(call)
  expect(shown).toContain(parameters)
  expect(shown).not.toMatch(/this: unknown|overload/)
})

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
