import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEvidence } from 'support-workspace-sdk/probe'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { examplesFolder, examplesOf, writeExamples } from './examples.ts'

const code = `${examplesFolder}/observe-service`

let sandbox: Sandbox
let folder: string
let printed: string[]

beforeAll(async () => {
  sandbox = await startSandbox()
  folder = await mkdtemp(join(tmpdir(), 'observe-'))
  await writeExamples(code, examplesOf('probe.md'))
})

afterAll(async () => {
  await sandbox.close()
  for (const path of [folder, code]) await rm(path, { recursive: true, force: true })
})

/** Runs a file of the guide, whose pauses take no time, and returns what it printed. */
async function run(name: string): Promise<string> {
  printed = []
  vi.stubGlobal('folder', folder)
  vi.stubGlobal('baseUrl', sandbox.url)
  vi.stubGlobal('accessToken', sandbox.issueToken({ actor: 'self' }))
  const { setTimeout } = globalThis
  vi.stubGlobal('setTimeout', (callback: () => void, delay: number, ...values: unknown[]) => {
    // The pause of a probe. Others belong to the platform's `fetch`.
    return delay === 250 ? setImmediate(callback) : setTimeout(callback, delay, ...values)
  })
  const log = vi.spyOn(console, 'log').mockImplementation((...values) => void printed.push(values.join(' ')))
  try {
    await import(/* @vite-ignore */ `${code}/probe/${name}`)
  } finally {
    log.mockRestore()
    vi.unstubAllGlobals()
  }
  return printed.join('\n')
}

test('guesses.mts prints the operations that are inferred', async () => {
  const text = await run('guesses.mts')
  expect(text.match(/ is inferred/g)).toHaveLength(17)
  expect(text).toContain('The name of status: reference, its meaning: inferred')
})

test('probe.mts prints and writes what it found', async () => {
  expect(await run('probe.mts')).toContain('How many conversations has a page without `limit`? 20')
  const evidence = parseEvidence(await readFile(`${folder}/evidence.json`, 'utf8'))
  expect(evidence.operations['contacts.get']).toBeDefined()
  expect(JSON.parse(await readFile(`${folder}/evidence.overlay.json`, 'utf8'))).toMatchObject({ overlay: '1.0.0' })
})

test('merge.mts adds up the files', async () => {
  expect(await run('merge.mts')).toContain('contacts.get is inferred, and was observed in 2 calls')
})

test('record.mts shows an inferred operation that was observed', async () => {
  expect(await run('record.mts')).toContain('conversations.update is inferred, and was observed in 1 call')
})
