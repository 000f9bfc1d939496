/**
 * Breaks the change feed in one place after the other, in a copy of the project, and shows whether the quick tests notice.
 *
 *   npm run feed-sabotages [-- numbers]
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

type Sabotage = readonly [title: string, file: string, from: string, to: string]

const sabotages: readonly Sabotage[] = [
  [
    'a change is acknowledged before it is delivered',
    'steps.ts',
    '    yield change\n    await this.#work.patiently(() => acknowledge(records, change.key))',
    '    await this.#work.patiently(() => acknowledge(records, change.key))\n    yield change',
  ],
  ['nothing is acknowledged', 'steps.ts', 'await this.#work.patiently(() => acknowledge(records, change.key))', ''],
  [
    'what a crash left is not delivered first',
    'rows.ts',
    "if (row.task !== 'none' && row.task !== 'unread') this.leftovers.add(id)",
    '',
  ],
  [
    'a row is stored without its change',
    'survey.ts',
    "task: readsMessages ? passes : outbox ? 'outbox' : 'none', outbox }",
    "task: readsMessages ? passes : 'none' }",
  ],
  [
    'a conversation is deleted after one pass',
    'steps.ts',
    "if (mark.absence === 'no') return void (await this.#setAbsence(list, id, 'once'))",
    '',
  ],
  ['a conversation is deleted without a 404', 'steps.ts', "list === 'contacts' || (await", 'true || (await'],
  ['a 200 counts as gone', 'service.ts', '      return false\n    } catch', '      return true\n    } catch'],
  ['doubt counts as gone', 'service.ts', 'if (error instanceof NotFoundError) return true', 'return true'],
  [
    'a hidden conversation is deleted by the audit alone',
    'steps.ts',
    "if (mark.absence === 'hidden') return void (await this.#setAbsence(list, id, 'once'))",
    '',
  ],
  ['a resumed pass counts as complete', 'survey.ts', 'isComplete = isComplete && isUntouched', ''],
  [
    'a pass with failures counts as complete',
    'work.ts',
    'return this.#failures >= mostFailures.conversations',
    'return false',
  ],
  [
    'many deletions at once are let through',
    'run.ts',
    'const isHeld = missing.length > this.#work.allowedDeletions(list, rows[list].size)',
    'const isHeld = false',
  ],
  [
    'accepted deletions let more through than was held',
    'work.ts',
    'this.progress.accepted[list] ?? 0',
    'this.progress.accepted[list] ? 1e9 : 0',
  ],
  [
    'a message is deleted after one reading',
    'reading.ts',
    'missing.filter((id) => before?.absent.includes(id))',
    'missing',
  ],
  ['deletions of messages come unasked', 'reading.ts', "settings.deletions.has('messages') ?", 'settings.deletions ?'],
  [
    'fingerprints depend on the order of fields',
    'fingerprints.ts',
    '.sort(([one], [other]) => (one < other ? -1 : 1))',
    '',
  ],
  ['ignored fields count', 'fingerprints.ts', '.filter(([name]) => !this.#ignored.has(name))', ''],
  [
    'fingerprints of other rules are compared',
    'fingerprints.ts',
    'return one.slice(0, 2) === other.slice(0, 2)',
    'return one !== other',
  ],
  [
    'messages are read only once',
    'run.ts',
    "if (typeof task === 'number' && (task >= passes || task < recent)) due.push(id)",
    '',
  ],
  ['the second reading does not wait', 'run.ts', '(task >= passes || task < recent)', 'task !== undefined'],
  ['nothing is audited', 'run.ts', 'for (const id of [...turn, ...unread]) {', 'for (const id of unread) {'],
  ['the audit always begins with the same conversation', 'run.ts', 'if (count <= turn.length) last = id', ''],
  [
    'old messages are reported',
    'reading.ts',
    "(typeof time === 'number' ? time >= start : before !== undefined)",
    '(start > 0)',
  ],
  [
    'the first pass swallows messages',
    'reading.ts',
    "typeof time === 'number' ? time >= start : before !== undefined",
    'before !== undefined',
  ],
  [
    'a conversation that appears later is not reported',
    'survey.ts',
    "typeof start !== 'number' || read.includes(list)",
    "typeof start !== 'number'",
  ],
  [
    'a row is overwritten whoever has replaced it',
    'entries.ts',
    'now?.revision === revision ? next : undefined',
    'next',
  ],
  [
    'the organization is not compared with the storage',
    'run.ts',
    'found !== undefined && found.place !== place',
    'found === null',
  ],
  [
    'another token is not asked about',
    'service.ts',
    'if (authorization === this.#verified) return',
    'if (this.#verified !== undefined) return',
  ],
  [
    'the person of the token is a customer',
    'change.ts',
    "if (author === you) return { author: 'you', isAutomatic }",
    '',
  ],
  [
    '`skip` acknowledges another change',
    'outbox.ts',
    'now?.outbox.filter((change) => change.key !== key)',
    'now?.outbox.slice(1)',
  ],
  [
    'what another process has stored meanwhile is left behind',
    'steps.ts',
    "if (last?.revision === now?.revision) await setTask('none')",
    "await setTask('none')",
  ],
  ['what a failed pass has not delivered is overwritten', 'survey.ts', 'work.rows[list].leftovers.add(id)', ''],
]

const root = fileURLToPath(new URL('../', import.meta.url))
const wanted = process.argv.slice(2).map(Number)
let missed = 0
for (const [index, [title, file, from, to]] of sabotages.entries()) {
  if (wanted.length > 0 && !wanted.includes(index + 1)) continue
  const copy = mkdtempSync(join(tmpdir(), 'sabotage-'))
  for (const name of readdirSync(root)) {
    if (['.git', 'dist', 'docs'].includes(name)) continue
    if (name === 'src' || name === 'test') cpSync(join(root, name), join(copy, name), { recursive: true })
    else if (/\.(ts|json)$/.test(name)) cpSync(join(root, name), join(copy, name))
    else symlinkSync(join(root, name), join(copy, name))
  }
  const path = join(copy, 'src/changes', file)
  const text = readFileSync(path, 'utf8')
  if (text.split(from).length !== 2)
    throw new Error(`${title}: the text is there ${text.split(from).length - 1} times.`)
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    'test/changes',
    '--bail=1',
    '--reporter=verbose',
    '--testTimeout=60000',
  ]
  const env = { ...process.env, NO_COLOR: '1', VITEST_MAX_WORKERS: '1' }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: copy,
    encoding: 'utf8',
    env,
    timeout: 240_000,
  })
  const noticed = /^ FAIL +test\/\S+ > (.*)$/m.exec(stdout + stderr)?.[1]
  if (status === 0) missed += 1
  console.log(`${index + 1}. ${status === 0 ? 'MISSED' : 'caught'} | ${title} | ${noticed ?? 'time limit'}`)
  rmSync(copy, { recursive: true })
}
console.log(missed === 0 ? 'Every sabotage was caught.' : `${missed} were missed.`)
process.exitCode = missed === 0 ? 0 : 1
