/**
 * Breaks the example in one place after the other, in a copy, and shows which test notices.
 *
 *   npm run fleet-sabotages                all, in about ten minutes
 *   npm run fleet-sabotages -- 3 7         some, by number
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What must notice: a file of tests, or the short form of the proof. */
type By = 'sync' | 'fleet' | 'proof'

/** What to replace in a file of the example, and by what. */
type Sabotage = readonly [by: By, title: string, file: string, from: string, to: string]

const sabotages: readonly Sabotage[] = [
  [
    'sync',
    'the lease is not checked',
    'sync-organization.ts',
    'key = $1 AND lease = $2 FOR UPDATE',
    'key = $1 AND lease >= $2 * 0 FOR UPDATE',
  ],
  [
    'sync',
    'a job that has lost its organization ends the pass',
    'organizations.ts',
    'WHERE key = $1 AND lease = $2`',
    'WHERE key = $1 AND lease >= $2 * 0`',
  ],
  [
    'sync',
    'a login leaves the job of the old token its organization',
    'organizations.ts',
    'due_at = now(), lease = DEFAULT',
    'due_at = now()',
  ],
  [
    'sync',
    'a change that comes again replaces the item',
    'sync-organization.ts',
    'THEN now() END FROM fresh',
    'THEN now() END FROM owner',
  ],
  ['sync', 'deleted items stay', 'sync-organization.ts', "      deletions: ['messages'],\n", ''],
  ['sync', 'the feed begins now', 'sync-organization.ts', "since: 'beginning'", "since: 'now'"],
  [
    'sync',
    'a job waits in its slot for as long as the service asks',
    'sync-organization.ts',
    'patience = 20_000',
    'patience = 1e15',
  ],
  ['sync', 'a skipped conversation is not named', 'sync-organization.ts', '      skipped.add(conversationId)\n', ''],
  [
    'sync',
    'a job that is told to end keeps its organization',
    'sync-organization.ts',
    'if (signal?.aborted) await end({ isDone: false, wait: 0 })',
    'if (signal?.aborted) await end({ isDone: false, wait: interval })',
  ],
  [
    'sync',
    'times are written by the clock of the machine',
    'organizations.ts',
    "due_at = now() + $3 * interval '1 ms'",
    "due_at = to_timestamp(` + Date.now() / 1000 + `) + $3 * interval '1 ms'",
  ],
  [
    'sync',
    'a revocation gets a notice whenever it is seen',
    'organizations.ts',
    "DO NOTHING', [key, login]",
    "DO NOTHING', [key, (login ?? 0) + Math.round(Math.random() * 1e9)]",
  ],
  [
    'sync',
    'a login is ordered by the clock',
    'organizations.ts',
    'organizations.login <> $3',
    'organizations.login < $3',
  ],
  [
    'fleet',
    'the data of a feed is not erased',
    'organizations.ts',
    "'position($1 in key) > 0'",
    "'position($1 in key) > 1e9'",
  ],
  [
    'fleet',
    'what a job stores while its organization is erased stays',
    'sync-organization.ts',
    'if (rowCount === 0) await eraseFeed(database, key)',
    'if (rowCount === 2) await eraseFeed(database, key)',
  ],
  ['fleet', 'jobs are not deduplicated', 'scheduler.ts', 'deduplication: { id: key },', ''],
  [
    'fleet',
    'a time that a wrong clock has written is waited for',
    'scheduler.ts',
    " OR due_at > now() + $1 * interval '1 ms' + interval '1 hour'",
    ' OR $1 < 0',
  ],
  ['fleet', 'millions of rows are deleted in one statement', 'database.ts', ' LIMIT 1000`', '`'],
  [
    'fleet',
    'a first pass that never ends is not late',
    'metrics.ts',
    'coalesce(completed_at, added_at)',
    'coalesce(completed_at, now())',
  ],
  [
    'fleet',
    'a process with another secret works',
    'connections.ts',
    'if (unreadable === undefined) return store',
    'if (unreadable !== null) return store',
  ],
  [
    'fleet',
    'a revoked organization goes on',
    'worker.ts',
    'if (connection?.revokedAt !== undefined)',
    'if (connection?.revokedAt === null)',
  ],
  ['proof', 'a connection to Redis that has gone silent is never replaced', 'queue.ts', ', socketTimeout: 15_000', ''],
  [
    'proof',
    'a connection to Postgres that has gone silent is waited for',
    'database.ts',
    '  query_timeout: 15_000,\n',
    '',
  ],
]

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Copies the example with its tests and its proof, and links everything else. */
function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'fleet-sabotage-'))
  for (const name of readdirSync(root)) {
    if (['examples', 'test', 'proofs', '.git'].includes(name)) continue
    if (name.endsWith('.ts') || name.endsWith('.json')) cpSync(join(root, name), join(copy, name))
    else symlinkSync(join(root, name), join(copy, name))
  }
  for (const folder of ['examples/fleet-sync', 'test/fleet', 'proofs/fleet']) {
    mkdirSync(join(copy, folder), { recursive: true })
    cpSync(join(root, folder), join(copy, folder), { recursive: true })
  }
  return copy
}

/** Returns the title of a test that fails, or what the proof says. Undefined if nothing is wrong. */
function failureOf(folder: string, by: By): string | undefined {
  const run = (words: string[]) =>
    spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8', timeout: 600_000 })
  if (by === 'proof') {
    const { status, stderr } = run(['--import=./scripts/from-source.js', 'proofs/fleet/proof.ts', '--short'])
    return status === 0 ? undefined : (/^.*(Not as promised|Error: ).*$/m.exec(stderr)?.[0] ?? `exit code ${status}`)
  }
  const file = join(folder, 'result.json')
  const options = ['--config=vitest.slow.config.ts', '--bail=1', '--testTimeout=60000', '--reporter=json']
  const { stderr } = run([
    'node_modules/vitest/vitest.mjs',
    'run',
    `test/fleet/${by}.slow.test.ts`,
    ...options,
    `--outputFile=${file}`,
  ])
  type Results = { testResults: { assertionResults: { status: string; title: string }[] }[] }
  const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Results
  rmSync(file)
  const results = testResults.flatMap(({ assertionResults }) => assertionResults)
  if (results.length === 0) throw new Error(`No test has run: ${stderr}`)
  return results.find(({ status }) => status === 'failed')?.title
}

const wanted = process.argv.slice(2).map(Number)
const chosen = [...sabotages.entries()].filter(([index]) => wanted.length === 0 || wanted.includes(index + 1))
const copy = copyProject()
let unseen = 0
try {
  for (const by of new Set(chosen.map(([, [by]]) => by))) {
    const failure = failureOf(copy, by)
    if (failure !== undefined) throw new Error(`Without a sabotage, this fails: ${failure}`)
  }
  for (const [index, [by, title, file, from, to]] of chosen) {
    const path = join(copy, 'examples/fleet-sync', file)
    const text = readFileSync(path, 'utf8')
    if (text.split(from).length !== 2) throw new Error(`${file} does not contain once: ${from}`)
    writeFileSync(path, text.split(from).join(to))
    const failure = failureOf(copy, by)
    writeFileSync(path, text)
    if (failure === undefined) unseen += 1
    console.log(`${index + 1}. ${title}: ${failure === undefined ? 'UNSEEN' : `seen by "${failure}"`}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
process.exitCode = unseen > 0 ? 1 : 0
