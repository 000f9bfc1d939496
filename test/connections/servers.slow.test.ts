import { memoryStorage } from 'support-workspace-sdk/storage'
import { expect, test } from 'vitest'
import { storageContract } from '../storage/contract.ts'
import { moduleFor, open } from './helpers/open-storage.ts'
import { describeOnStorages } from './helpers/servers.ts'

describeOnStorages((kind, address) => {
  const names = storageContract({ open: () => memoryStorage() }).map(({ name }) => name)
  test.each(names)('%s', async (name) => {
    const module = moduleFor(kind, address())
    const found = storageContract({ open: () => open(module), module }).find((one) => one.name === name)
    await found?.run()
    expect(found?.skip).toBe(false)
  })
})
