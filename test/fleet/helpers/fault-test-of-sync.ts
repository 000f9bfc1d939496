import { expect } from 'vitest'
import { openDatabase } from '../../../examples/fleet-sync/open-database.ts'
import { mirror } from '../../../examples/fleet-sync/organizations.ts'
import { syncOrganization } from '../../../examples/fleet-sync/sync-organization.ts'
import { type FaultTestOptions, type FaultTestReport, faultTest } from '../../../src/fault-test/index.ts'
import { changesOf, connection, expectReplica, key } from './replica.ts'

/** Runs the sync of an organization with every fault, and compares every item and change. */
export function faultTestOfSync(options: Pick<FaultTestOptions, 'sandbox' | 'client'>): Promise<FaultTestReport> {
  return faultTest(
    async ({ workspace, context: { database } }) => {
      for (let slices = 0; slices < 50; slices += 1) {
        const result = await syncOrganization({ workspace, database, key, readAllEvery: 1, slice: 0 })
        // The next sync pass tries again what was put aside.
        const skipped = database.selectFrom('items').select('id').where('problem', 'is not', null)
        if (result === 'done' && (await skipped.execute()).length === 0) return
      }
      throw new Error('The sync does not end.')
    },
    {
      ...options,
      async setup() {
        const opened = await openDatabase(':memory:')
        await mirror(opened.database, key, connection())
        return opened
      },
      async check(sandbox, { end, context: { database, close } }) {
        // A service that stays away for good is the only end without a complete replica.
        if (end === 'done') await expectReplica({ sandbox, database })
        const changes = await changesOf(database)
        expect(changes.filter(({ change }) => change !== 'created')).toEqual([])
        expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length)
        await close()
      },
    },
  )
}
