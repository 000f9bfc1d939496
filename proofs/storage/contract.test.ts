import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { moduleFor, unfitFiles } from '../../test/connections/helpers/unfit-storages.ts'
import { storageContract } from '../../test/storage/contract.ts'
import { isFull } from '../is-full.ts'

test.runIf(isFull).each([
  ['truncating', 'while another handle writes'],
  ['truncating', 'while another process writes'],
  ['truncating', 'when a process is killed'],
  ['comparing', 'another process as well'],
] as const)(
  'a storage of files that are written by %s them fails the test "%s"',
  // A busy machine may kill or write just beside the gap.
  { retry: 3 },
  async (kind, name) => {
    const folder = mkdtempSync(join(tmpdir(), `${kind}-`))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const options = { open: () => unfitFiles[kind](folder), module: moduleFor(kind, folder) }
    const cases = storageContract(options).filter((each) => !each.skip && each.name.includes(name))
    expect(cases).toHaveLength(1)
    for (const { run } of cases) await expect(run()).rejects.toThrow('The storage is not suitable')
  },
)
