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
    '      if (isWatched) yield change\n      await reader.patiently(() => acknowledge(records, change.key))',
    '      await reader.patiently(() => acknowledge(records, change.key))\n      if (isWatched) yield change',
  ],
  ['nothing is acknowledged', 'steps.ts', 'await reader.patiently(() => acknowledge(records, change.key))', ''],
  [
    'what a crash left is not delivered first',
    'rows.ts',
    "if (row.outbox.length > 0 || typeof row.task === 'number') this.undelivered.add(id)",
    '',
  ],
  [
    'a row is stored without its change',
    'survey.ts',
    'outbox: watch.has(list) ? [change] : [] }',
    'outbox: change.id === id ? [] : [change] }',
  ],
  [
    'a conversation is deleted after one pass',
    'steps.ts',
    "if (missing === 'no') return this.#setMissing(list, id, 'once')",
    '',
  ],
  ['a conversation is deleted without a 404', 'steps.ts', "list === 'contacts' || (await", 'true || (await'],
  [
    'a 200 counts as gone',
    'reader.ts',
    '      return false\n    } catch (error) {\n      if (error instanceof NotFoundError)',
    '      return true\n    } catch (error) {\n      if (error instanceof NotFoundError)',
  ],
  ['doubt counts as gone', 'reader.ts', 'if (error instanceof NotFoundError) return true', 'return true'],
  [
    'a hidden conversation is deleted by the audit alone',
    'steps.ts',
    "if (missing === 'hidden') return this.#setMissing(list, id, 'once')",
    '',
  ],
  ['a resumed pass counts as complete', 'reader.ts', 'isComplete &&= resumeFrom === null', ''],
  ['a pass with failures counts as complete', 'work.ts', 'return this.#failures >= mostFailures', 'return false'],
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
    'sortedJson(item, this.#ignored)',
    'JSON.stringify(item, (name, value) => (this.#ignored.has(name) ? undefined : value))',
  ],
  ['ignored fields count', 'fingerprints.ts', 'sortedJson(item, this.#ignored)', 'sortedJson(item)'],
  [
    'fingerprints of other rules are compared',
    'fingerprints.ts',
    'return one.slice(0, markLength) === other.slice(0, markLength)',
    'return one !== other',
  ],
  ['messages are read only once', 'run.ts', 'if (task >= passes || task < recent) due.push(id)', ''],
  ['the second reading does not wait', 'run.ts', 'if (task >= passes || task < recent) due.push(id)', 'due.push(id)'],
  [
    'nothing is audited',
    'run.ts',
    "(isRead && task === 'unread') || isTurn(print, audited, now, settings.auditEvery)",
    "isRead && task === 'unread'",
  ],
  [
    'the audit reads all conversations at once',
    'fingerprints.ts',
    'Number.parseInt(print.slice(-8), 16) / 2 ** 32',
    'Number.parseInt(print.slice(-8), 16) * 0',
  ],
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
    'records.ts',
    'now?.revision === revision ? { write: next, result: next } : { result: undefined }',
    '{ write: next, result: next }',
  ],
  [
    'the organization is not compared with the storage',
    'progress.ts',
    'found !== undefined && found.place !== place',
    'found === null',
  ],
  [
    'another token is not asked about',
    'reader.ts',
    'if (authorization === this.#verified) return',
    'if (this.#verified !== undefined) return',
  ],
  [
    'the person of the token is a customer',
    'change.ts',
    "if (author === you) return { author: 'you', isAutomatic }",
    '',
  ],
  ['an acknowledgement removes the other changes', 'records.ts', 'now.outbox.filter((each) => each !== change)', '[]'],
  [
    'what another process has stored meanwhile is left behind',
    'steps.ts',
    "if (last?.revision === now?.revision) await setTask('no')",
    "await setTask('no')",
  ],
  ['what a failed pass has not delivered is overwritten', 'survey.ts', 'rows.undelivered.add(id)', ''],
]

const root = fileURLToPath(new URL('../../', import.meta.url))
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
