import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { type StorageTestsOptions, storageTests } from 'support-workspace-sdk/storage-tests'
import { describe, expect, onTestFinished, test } from 'vitest'
import { truncatingFiles, unfitStorages } from './helpers/unfit-storages.ts'

/** Returns the names of the tests that fail. */
async function failuresOf(options: StorageTestsOptions, names = /./): Promise<string[]> {
  const failed: string[] = []
  for (const { name, skip, run } of storageTests(options)) {
    if (skip || !names.test(name)) continue
    await run().catch((error: unknown) => {
      expect(error).toBeInstanceOf(Error)
      failed.push(name)
    })
  }
  return failed
}

describe('a storage fails with', () => {
  test.each(unfitStorages)('$fault', async ({ open, foundBy }) => {
    expect((await failuresOf({ open })).join('\n')).toMatch(foundBy)
  })

  test.each([
    ['while another handle writes', /while another handle/],
    ['while another process writes', /while another process/],
    ['when a process is killed', /killed/],
  ])('files that are truncated before they are written, found %s', async (_, names) => {
    const folder = mkdtempSync(join(tmpdir(), 'truncating-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const module = new URL(`./helpers/unfit-storages.ts?${encodeURIComponent(folder)}`, import.meta.url).href
    expect(await failuresOf({ open: () => truncatingFiles(folder), module }, names)).toHaveLength(1)
  })
})

test('a failure describes the problem', async () => {
  const storage = { ...memoryStorage(), compareAndSet: () => true }
  const { run } = storageTests({ open: () => storage }).find(({ name }) => name.startsWith('writes only')) ?? {}
  await expect(run?.()).rejects.toThrow(
    'The storage is not suitable for connections: expected the result of compareAndSet to be false, but got true.',
  )
})

test('a test that needs a module says so if it runs without one', async () => {
  const { run } = storageTests({ open: () => memoryStorage() }).find(({ skip }) => skip) ?? {}
  await expect(run?.()).rejects.toThrow('this test needs the option `module`')
})
