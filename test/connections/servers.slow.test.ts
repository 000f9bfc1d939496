import { memoryStorage } from 'support-workspace-sdk/storage'
import { expect, test } from 'vitest'
import { isFull } from '../../proofs/is-full.ts'
import { storageContract } from '../storage/contract.ts'
import { moduleFor, open } from './helpers/open-storage.ts'
import { describeOnStorages } from './helpers/servers.ts'

describeOnStorages((kind, address) => {
  const names = storageContract({ open: () => memoryStorage() }).map(({ name }) => name)
  // A handle has its own connection to a server, and so is as far away as another process.
  const chosen = names.filter((name) => isFull || kind === 'sqlite' || !name.includes('process'))
  test.each(chosen)('%s', async (name) => {
    const module = moduleFor(kind, address())
    const found = storageContract({ open: () => open(module), module }).find((one) => one.name === name)
    await found?.run()
    expect(found?.skip).toBe(false)
  })
})
