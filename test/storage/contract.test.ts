import { memoryStorage } from 'support-workspace-sdk/storage'
import { expect, test } from 'vitest'
import { unfitStorages } from '../connections/helpers/unfit-storages.ts'
import { type ContractOptions, storageContract } from './contract.ts'

/** Returns the names of the tests that fail. */
async function failuresOf(options: ContractOptions): Promise<string[]> {
  const failed: string[] = []
  for (const { name, skip, run } of storageContract(options)) {
    if (skip) continue
    await run().catch((error: unknown) => {
      expect(error).toBeInstanceOf(Error)
      failed.push(name)
    })
  }
  return failed
}

test.each(unfitStorages)('a storage fails with $fault', async ({ open, foundBy }) => {
  expect((await failuresOf({ open })).join('\n')).toMatch(foundBy)
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
