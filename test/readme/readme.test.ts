import { readFile, rm } from 'node:fs/promises'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { examplesFolder, readmeExamples, root, writeExamples } from './examples.ts'
import { giveGlobals } from './given.ts'

const folder = `${examplesFolder}/readme`
const readme = await readFile(`${root}README.md`, 'utf8')
const examples = readmeExamples()

/** What each section's example prints, in part. */
const printedBy: Readonly<Record<string, RegExp>> = {
  Install: /^\S.+ of .+\ncnv_/,
  Paging: /^50\n50\n20\n100 10 \S+$/,
  Login: /^303$/,
  Writing: / 200 /,
  Errors: /^The token is invalid or revoked: log in again\.$/,
  'Writes that happen once': /^true$/,
  'Testing your app': /^NetworkError: messages\.create .+ <p>Hi<\/p>\nPOST,\S+\/messages,$/,
}

let sandbox: Sandbox

beforeAll(async () => {
  await writeExamples(folder, examples)
  const redirectUri = 'http://127.0.0.1:3000/callback'
  sandbox = await startSandbox({ conversations: 120, app: { redirectUris: [redirectUri] } })
  await giveGlobals(sandbox, redirectUri)
})

afterAll(async () => {
  await sandbox.close()
  vi.unstubAllGlobals()
  await rm(folder, { recursive: true, force: true })
})

describe('the example of the section', () => {
  test.each(examples.map((example) => [example.title, example] as const))('%s runs', async (title, { path }) => {
    const printed: string[] = []
    vi.spyOn(console, 'log').mockImplementation((...values) => void printed.push(values.join(' ')))
    vi.stubGlobal('accessToken', title.startsWith('Errors') ? 'swot_revoked' : sandbox.issueToken({ actor: 'self' }))
    await import(/* @vite-ignore */ `${folder}/${path}`)
    vi.restoreAllMocks()
    expect(printed.join('\n')).toMatch(printedBy[title.replace(/ \(\d+\)$/, '')] ?? /^not listed$/)
  })

  test('is there for each of them', () => {
    expect(examples.map(({ title }) => title.replace(/ \(\d+\)$/, ''))).toEqual(Object.keys(printedBy))
  })
})

test('the README names the tarball of this version, and the number of dependencies', async () => {
  const { version, dependencies } = JSON.parse(await readFile(`${root}package.json`, 'utf8'))
  expect(readme).toContain(`support-workspace-sdk-${version}.tgz`)
  expect(Object.keys(dependencies)).toHaveLength(3)
  expect(readme).toContain('three small dependencies')
})

test('the picture of the tour shows what the tour prints', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import('../../examples/tour.ts')
  const printed = log.mock.calls.flatMap(([text]) => String(text).trim().split('\n'))
  log.mockRestore()
  const picture = await readFile(`${root}docs/tour.svg`, 'utf8')
  const rows = [...picture.matchAll(/<text[^>]*>(.*)<\/text>/g)].map(([, row = '']) => row.replaceAll(/<[^>]*>/g, ''))
  // The port changes with each run.
  const withoutPort = (lines: string[]) => lines.map((line) => line.replace(/127\.0\.0\.1:\d+/, '127.0.0.1'))
  expect(withoutPort(rows)).toEqual(['$ npm start', ...withoutPort(printed)])
})
