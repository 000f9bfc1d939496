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

/** What to replace in a file of the example, and by what. */
const sabotages: Readonly<Record<string, readonly [file: string, from: string, to: string]>> = {
  'the checkpoint is saved before the rows, in a transaction of its own': [
    'replica.ts',
    'else await database.transaction().execute(run)',
    'else await run(database)',
  ],
  'jobs are not deduplicated': ['queue.ts', 'deduplication: { id: data.key },', ''],
  'a changed status is not reported': [
    'replica.ts',
    "if (field === 'presigned_url') return undefined",
    "if (field === 'presigned_url' || field === 'status' || field === 'pinned') return undefined",
  ],
  'the lease is not checked': [
    'replica.ts',
    "      .where('lease', '=', lease)\n",
    "      .where('lease', '>=', Math.min(lease, 0))\n",
  ],
  'an item is deleted after one reading': [
    'sync-organization.ts',
    'isRead = missing.length === 0 || before !== undefined\n      const deleted = missing.filter((id) => before?.includes(id))',
    'isRead = true\n      const deleted = missing',
  ],
  'nothing is ever deleted': [
    'sync-organization.ts',
    'const deleted = missing.filter((id) => before?.includes(id))',
    'const deleted = missing.filter(() => before === null)',
  ],
  'a skipped conversation loses its messages': [
    'sync-organization.ts',
    'await this.#saveIfNeeded({ read: { conversation: id, problem }, seen: null })',
    'await this.#saveIfNeeded({ list: id, deleted: await findMissing(database, key, id, new Set()), read: { conversation: id, problem }, seen: null })',
  ],
  'a conversation that fails holds up the others': [
    'sync-organization.ts',
    'if (!isOfItem) throw error',
    'if (!isOfItem || this.#position.tries < 3) throw error',
  ],
  'a conversation that always fails is tried in each sync pass': [
    'known.ts',
    'export const mostFailures = 3',
    'export const mostFailures = 300',
  ],
  'jobs that Redis has lost are not added again': ['scheduler.ts', '= [...fresh, ...lost].map(', '= fresh.map('],
  'a login is ordered by the clock': ['organizations.ts', "eb('login', '<>', login)", "eb('login', '<', login)"],
  'the messages of a conversation that changed are not read': [
    'replica.ts',
    "const stale = list === '' ? 1 : 0",
    'const stale = 0',
  ],
  'what was seen before a slice ended is forgotten': [
    'sync-organization.ts',
    'if (this.#hasSaved) for',
    'if (this.#hasSaved && this.#unsaved.length < 0) for',
  ],
  'a revocation gets a notice whenever it is seen': [
    'organizations.ts',
    '.values({ key, login })',
    '.values({ key, login: login + Math.round(Math.random() * 1e9) })',
  ],
  'a first sync that never ends is not late': [
    'metrics.ts',
    'coalesce(completed_at, added_at)',
    'coalesce(completed_at, unixepoch() * 1000)',
  ],
  'a job keeps its slot until the sync pass is complete': [
    'sync-organization.ts',
    'if (performance.now() > this.#until) throw new SliceOver()',
    'if (this.#until === 0) throw new SliceOver()',
  ],
  'a connection to Redis that has gone silent is never replaced': ['queue.ts', ', socketTimeout: 15_000', ''],
  'times are those of the machine': [
    'tables.ts',
    "`(SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER))`",
    ['`(SELECT $', '{Date.now()})`'].join(''),
  ],
  'a time that a wrong clock has written is waited for': [
    'scheduler.ts',
    "or([eb('due_at', '<=', now), eb('due_at', '>', never)])",
    "eb('due_at', '<=', now)",
  ],
  'a lost token stops an organization at once': ['scheduler.ts', 'lost.length > few', 'lost.length > 500'],
  'millions of rows are deleted in one statement': ['tables.ts', ' LIMIT 1000`', '`'],
  'deleted items are kept': ['scheduler.ts', 'AND stale = 0`', 'AND stale = 2`'],
  'numbers of changes have gaps': [
    'replica.ts',
    'const first = last - changes.length + 1',
    'const first = last - changes.length + (changes.length > 1 ? 2 : 1)',
  ],
}

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
    const options = ['--config=vitest.slow.config.ts', '--bail=1', '--reporter=json', `--outputFile=${file}`]
    const command = ['node_modules/vitest/vitest.mjs', 'run', tests, '-t', 'on SQLite', ...options]
    spawnSync(process.execPath, command, { cwd: folder })
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
  for (const [index, [title, [file, from, to]]] of Object.entries(sabotages).entries()) {
    if (wanted.length > 0 && !wanted.includes(index + 1)) continue
    const path = join(copy, 'examples/fleet-sync', file)
    const text = readFileSync(path, 'utf8')
    if (text.split(from).length !== 2) throw new Error(`${file} does not contain once: ${from}`)
    writeFileSync(path, text.split(from).join(to))
    const [failed] = failedTests(copy)
    writeFileSync(path, text)
    if (failed === undefined) unseen += 1
    console.log(`${index + 1}. ${title}: ${failed === undefined ? 'UNSEEN' : `seen by "${failed}"`}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
process.exitCode = unseen > 0 ? 1 : 0
