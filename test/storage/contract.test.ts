import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStorage } from 'support-workspace-sdk/storage'
import { describe, expect, onTestFinished, test } from 'vitest'
import { moduleFor, unfitFiles, unfitStorages } from '../connections/helpers/unfit-storages.ts'
import { type ContractOptions, storageContract } from './contract.ts'

/** Returns the names of the tests that fail. */
async function failuresOf(options: ContractOptions, names = /./): Promise<string[]> {
  const failed: string[] = []
  for (const { name, skip, run } of storageContract(options)) {
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
    ['truncating', 'while another handle writes'],
    ['truncating', 'while another process writes'],
    ['truncating', 'when a process is killed'],
    ['comparing', 'another process as well'],
  ] as const)(
    'files that are written by %s them, found by the test "%s"',
    // A busy machine may kill or write just beside the gap.
    { retry: 3 },
    async (kind, name) => {
      const folder = mkdtempSync(join(tmpdir(), `${kind}-`))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const options = { open: () => unfitFiles[kind](folder), module: moduleFor(kind, folder) }
      expect(await failuresOf(options, new RegExp(name))).toHaveLength(1)
    },
  )
})

test('a failure describes the problem', async () => {
  const storage = { ...memoryStorage(), compareAndSet: () => true }
  const { run } = storageContract({ open: () => storage }).find(({ name }) => name.startsWith('writes only')) ?? {}
  await expect(run?.()).rejects.toThrow(
    'The storage is not suitable for connections: expected the result of compareAndSet to be false, but got true.',
  )
})

test('a test that needs a module says so if it runs without one', async () => {
  const { run } = storageContract({ open: () => memoryStorage() }).find(({ skip }) => skip) ?? {}
  await expect(run?.()).rejects.toThrow('this test needs the option `module`')
})
