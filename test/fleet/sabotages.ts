/**
 * Breaks the example in one place after the other, in a copy, and shows which test notices.
 *
 *   npm run fleet-sabotages                all
 *   npm run fleet-sabotages -- 3 7         some, by number
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Sabotage {
  readonly title: string
  readonly file: string
  readonly from: string
  readonly to: string
}

export const sabotages: readonly Sabotage[] = [
  {
    title: 'the checkpoint is saved before the rows, in a transaction of its own',
    file: 'replica.ts',
    from: 'else await database.transaction().execute(run)',
    to: 'else await run(database)',
  },
  {
    title: 'jobs are not deduplicated',
    file: 'queue.ts',
    from: 'deduplication: { id: key },',
    to: '',
  },
  {
    title: 'a changed status is not reported',
    file: 'replica.ts',
    from: "if (field === 'presigned_url') return undefined",
    to: "if (field === 'presigned_url' || field === 'status' || field === 'pinned') return undefined",
  },
  {
    title: 'the lease is not checked',
    file: 'replica.ts',
    from: "      .where('lease', '=', lease)\n",
    to: "      .where('lease', '>=', Math.min(lease, 0))\n",
  },
  {
    title: 'an item is deleted after one reading',
    file: 'sync-organization.ts',
    from: 'isRead = missing.length === 0 || before !== undefined\n      const deleted = missing.filter((id) => before?.includes(id))',
    to: 'isRead = true\n      const deleted = missing',
  },
  {
    title: 'nothing is ever deleted',
    file: 'sync-organization.ts',
    from: 'const deleted = missing.filter((id) => before?.includes(id))',
    to: 'const deleted = missing.filter(() => before === null)',
  },
  {
    title: 'a skipped conversation loses its messages',
    file: 'sync-organization.ts',
    from: 'await this.#save({ read: { conversation: id, problem }, seen: null })',
    to: 'await this.#save({ list: id, deleted: [...known.keys()], read: { conversation: id, problem }, seen: null })',
  },
  {
    title: 'a conversation that fails is never skipped',
    file: 'sync-organization.ts',
    from: 'const mostTries = 3',
    to: 'const mostTries = 300',
  },
  {
    title: 'jobs that Redis has lost are not added again',
    file: 'scheduler.ts',
    from: 'await addJobs(queue, [...fresh, ...lost])',
    to: 'await addJobs(queue, fresh)',
  },
  {
    title: 'a login is ordered by the clock',
    file: 'organizations.ts',
    from: "eb('login', '<>', login)",
    to: "eb('login', '<', login)",
  },
  {
    title: 'the messages of a conversation that changed are not read',
    file: 'replica.ts',
    from: "const stale = list === '' ? 1 : 0",
    to: 'const stale = 0',
  },
  {
    title: 'what was seen before a slice ended is forgotten',
    file: 'sync-organization.ts',
    from: 'this.#seen = ids\n',
    to: 'this.#seen = new Set([...ids].slice(0, 0))\n',
  },
  {
    title: 'a revocation gets a notice whenever it is seen',
    file: 'organizations.ts',
    from: '.values({ key, login })',
    to: '.values({ key, login: login + Math.round(Math.random() * 1e9) })',
  },
  {
    title: 'a first sync that never ends is not late',
    file: 'site.ts',
    from: 'const lag = now - (row.completed_at ?? row.added_at)',
    to: 'const lag = now - (row.completed_at ?? now)',
  },
  {
    title: 'a job keeps its slot until the sweep is complete',
    file: 'sync-organization.ts',
    from: 'if (Date.now() > this.#until) throw new SliceOver()',
    to: 'if (this.#until === 0) throw new SliceOver()',
  },
  {
    title: 'a connection to Redis that has gone silent is never replaced',
    file: 'queue.ts',
    from: ', socketTimeout: 15_000',
    to: '',
  },
  {
    title: 'numbers of changes have gaps',
    file: 'replica.ts',
    from: 'let number = last - changes.length',
    to: 'let number = last - changes.length + (changes.length > 1 ? 1 : 0)',
  },
]

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Copies the example and its tests, and links everything else. */
function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'fleet-sabotage-'))
  for (const name of readdirSync(root)) {
    if (['examples', 'test', '.git'].includes(name)) continue
    if (name.endsWith('.ts') || name.endsWith('.json')) cpSync(join(root, name), join(copy, name))
    else symlinkSync(join(root, name), join(copy, name))
  }
  mkdirSync(join(copy, 'examples'))
  mkdirSync(join(copy, 'test'))
  cpSync(join(root, 'examples/fleet-sync'), join(copy, 'examples/fleet-sync'), { recursive: true })
  cpSync(join(root, 'test/fleet'), join(copy, 'test/fleet'), { recursive: true })
  return copy
}

/** Returns the tests that fail, of the first file that has any. Those on Postgres are left out, because they are the same. */
function failedTests(folder: string): string[] {
  for (const tests of ['test/fleet/sync.slow.test.ts', 'test/fleet/fleet.slow.test.ts']) {
    const file = join(folder, 'result.json')
    const options = [
      'run',
      '--config',
      'vitest.slow.config.ts',
      tests,
      '-t',
      'on SQLite',
      '--bail=1',
      '--reporter=json',
      `--outputFile=${file}`,
    ]
    spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', ...options], { cwd: folder })
    type Results = { testResults: { assertionResults: { status: string; title: string }[] }[] }
    const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Results
    const results = testResults.flatMap(({ assertionResults }) => assertionResults)
    const failed = results.filter(({ status }) => status === 'failed')
    if (failed.length > 0) return failed.map(({ title }) => title)
  }
  return []
}

const wanted = process.argv.slice(2).map(Number)
const copy = copyProject()
const [failedBefore] = failedTests(copy)
if (failedBefore !== undefined) throw new Error(`Without a sabotage, this fails: ${failedBefore}`)
let unseen = 0
try {
  for (const [index, { title, file, from, to }] of sabotages.entries()) {
    if (wanted.length > 0 && !wanted.includes(index + 1)) continue
    const path = join(copy, 'examples/fleet-sync', file)
    const text = readFileSync(path, 'utf8')
    if (text.split(from).length !== 2) throw new Error(`${file} does not contain once: ${from}`)
    writeFileSync(
      path,
      text.replace(from, () => to),
    )
    const [failed] = failedTests(copy)
    writeFileSync(path, text)
    if (failed === undefined) unseen += 1
    console.log(`${index + 1}. ${title}: ${failed === undefined ? 'UNSEEN' : `seen by "${failed}"`}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
process.exitCode = unseen > 0 ? 1 : 0
