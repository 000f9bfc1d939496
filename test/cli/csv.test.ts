// What a spreadsheet gets: checked with two readers that are not the writer.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, expect, test } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { run } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let env: Record<string, string>
beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 1 })
  env = { SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }) }
})

/** Reads texts of CSV, each with its delimiter, with the `csv` module of Python. */
function readWithPython(texts: readonly (readonly [text: string, delimiter: string])[]): string[][][] {
  const code = `import csv, io, json, sys
texts = json.load(sys.stdin)
print(json.dumps([list(csv.reader(io.StringIO(text, newline=''), delimiter=delimiter)) for text, delimiter in texts]))`
  return JSON.parse(String(execFileSync('python3', ['-c', code], { input: JSON.stringify(texts) })))
}

/** Returns what `list` prints of texts, each between two others. */
async function listTexts(texts: readonly string[], ...args: string[]): Promise<string> {
  const data = texts.map((text) => ({ before: 'a', text, after: 'b' }))
  sandbox.faults.add({ path: '/tasks', status: 200, body: { data } })
  return (await run(['list', 'tasks', '--format', 'csv', ...args], { env })).stdout
}

const texts = [
  'x\r=HYPERLINK(1)',
  'a\nb',
  'a\r\nb',
  '"',
  'a,b',
  'a;b',
  'a|b',
  'a\tb',
  '\u2028=1',
  "'=1",
  'a\0=1',
  '\v=1',
]
const formulas = ['=1', '+1', '-1', '@a', '\t=1', '\r=1', '\r', '\0=1', '\uff1d1']

test('each text is one cell between every delimiter, for two readers', async () => {
  const expected = [['before', 'text', 'after'], ...texts.map((text) => ['a', text, 'b'])]
  const written: [text: string, delimiter: string][] = []
  for (const name of [',', ';', '|', 'tab']) {
    written.push([await listTexts(texts, '--delimiter', name), name === 'tab' ? '\t' : name])
  }
  for (const [csv, delimiter] of written) {
    // Other readers find the end of a row at a bare CR.
    expect(parse(csv, { delimiter, record_delimiter: ['\r\n', '\n', '\r'] })).toEqual(expected)
  }
  expect(readWithPython(written)).toEqual(written.map(() => expected))
})

test('a text that a spreadsheet would run is guarded, unless it is raw', async () => {
  const cellsOf = (csv: string) =>
    (parse(csv, { record_delimiter: ['\r\n', '\n', '\r'] }) as string[][]).slice(1).map(([, cell]) => cell)
  expect(cellsOf(await listTexts(formulas))).toEqual(formulas.map((text) => `'${text}`))
  expect(cellsOf(await listTexts(formulas, '--raw'))).toEqual(formulas)
})

test('a message with a bare CR is one row of an export', async () => {
  const message = 'x\r=HYPERLINK(1)'
  const body = ['-f', 'customer_email=r@example.com', '-f', `initial_message=${message}`]
  expect((await run(['call', 'conversations.create', ...body], { env })).code).toBe(0)
  const out = join(createFolder(), 'out.csv')
  expect((await run(['export', 'conversations', '--fields', 'id,initial_message', '--out', out], { env })).code).toBe(0)
  const [rows = []] = readWithPython([[readFileSync(out, 'utf8'), ',']])
  expect(rows).toHaveLength(3)
  expect(rows.map(([, cell]) => cell)).toContain(message)
})

test.each([
  [[], '1767817800'],
  [['--dates', 'iso', '--utc'], '2026-01-07T20:30:00Z'],
  [['--dates', 'iso'], expect.stringMatching(/^2026-01-0\dT\d\d:\d\d:00[+-]\d\d:\d\d$/)],
])('writes times with %j as %s', async (args, expected) => {
  sandbox.faults.add({ path: '/tasks', status: 200, body: { data: [{ id: 'a', due_at: 1_767_817_800 }] } })
  const { stdout } = await run(['list', 'tasks', '--format', 'csv', ...args], { env })
  expect(parse(stdout)[1]?.[1]).toEqual(expected)
})

test('--bom begins the file with a byte order mark, and the export goes on behind it', async () => {
  const out = join(createFolder(), 'out.CSV')
  const args = ['export', 'contacts', '--limit', '2', '--bom', '--delimiter', ';', '--out', out]
  sandbox.faults.add({ path: '/contacts', status: 403, after: 1 })
  expect((await run(args, { env })).code).toBe(70)
  expect((await run(args, { env })).code).toBe(0)
  const text = readFileSync(out, 'utf8')
  expect(text.match(/\uFEFF/g)).toHaveLength(1)
  const rows = parse(text, { bom: true, columns: true, delimiter: ';' }) as { id: string }[]
  expect(rows.map(({ id }) => id)).toEqual(sandbox.state.contacts.map(({ id }) => id))
})

test.each(['out.xlsx', 'out.XLS', 'out.ods'])('refuses --out %s', async (name) => {
  const { code, stderr } = await run(['export', 'contacts', '--out', join(createFolder(), name)], { env })
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('is the format of a spreadsheet') })
})

test.each([
  ['out.txt', [], '{'],
  ['out.json', ['--format', 'ndjson'], '{'],
  ['out.txt', ['--format', 'csv'], 'id,'],
  ['out.xlsx', ['--format', 'csv'], 'id,'],
  ['out.CSV', ['--format', 'ndjson'], '{'],
])('%s with %j begins with %s', async (name, args, start) => {
  const out = join(createFolder(), name)
  expect((await run(['export', 'contacts', '--out', out, ...args], { env })).code).toBe(0)
  expect(readFileSync(out, 'utf8').slice(0, start.length)).toBe(start)
})

test('--out - is stdout', async () => {
  expect((await run(['export', 'contacts', '--out', '-'], { env })).lines).toEqual(sandbox.state.contacts)
})
