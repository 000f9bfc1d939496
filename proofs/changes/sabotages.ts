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
    'pass.ts',
    '      yield change\n      left = (await reader.patiently(() => acknowledge(entries, id, key))).left\n',
    '      left = (await reader.patiently(() => acknowledge(entries, id, key))).left\n      yield change\n',
  ],
  [
    'nothing is acknowledged',
    'pass.ts',
    'left = (await reader.patiently(() => acknowledge(entries, id, key))).left',
    'left = { ...(left as Content), outbox: (left as Content).outbox.filter((each) => each.key !== key) }',
  ],
  [
    'what a crash left is not delivered first',
    'rows.ts',
    "if (row.outbox.length > 0 || typeof row.task === 'number') this.pending.add(own)",
    '',
  ],
  [
    'a row is stored without its change',
    'run-pass.ts',
    'outbox: kind !== undefined && settings.watch.has(list) ?',
    'outbox: kind === undefined && settings.watch.has(list) ?',
  ],
  [
    'a conversation is deleted after one pass',
    'run-pass.ts',
    "const isAsked = missing !== 'no' && list === 'conversations'",
    "const isAsked = list === 'conversations'",
  ],
  [
    'a conversation is deleted without a 404',
    'run-pass.ts',
    'const isGone = isAsked ? await reader.isGone(id) :',
    'const isGone = isAsked ? true :',
  ],
  ['a 200 counts as gone', 'reader.ts', '.then(() => false, isGone)', '.then(() => true, isGone)'],
  ['doubt counts as gone', 'reader.ts', 'if (error instanceof NotFoundError && ', 'if ('],
  ['a 404 for `/me` counts as gone', 'reader.ts', ' && !this.#requests.isOfMe', ''],
  [
    'a hidden conversation is deleted by the audit alone',
    'run-pass.ts',
    "if (!isGone || missing === 'hidden') {",
    'if (!isGone) {',
  ],
  ['a list with an entry that has no id counts as complete', 'run-pass.ts', ' && isReadable\n', '\n'],
  [
    'an entry that is too deep counts as missing',
    'run-pass.ts',
    '    seen.add(id)\n    reader.report(',
    'reader.report(',
  ],
  ['a resumed pass counts as complete', 'reader.ts', 'isComplete &&= resumeFrom === null', ''],
  ['a broken conversation is repeated for ever', 'reader.ts', ' || attempt >= mostAttempts', ''],
  [
    'an outage is taken for broken conversations',
    'reader.ts',
    'await this.identify().catch((refused) => this.#throwIfOfAll(refused))',
    'false',
  ],
  [
    'a refused `/me` is taken for the answer about a conversation',
    'reader.ts',
    '.catch((refused) => this.#throwIfOfAll(refused))',
    '',
  ],
  [
    'a rate limit of messages is not waited for',
    'reader.ts',
    'if (error instanceof RateLimitError) await this.#pause(error, attempt, timeLeft(), conversationId)',
    '',
  ],
  ['a conversation holds up the others', 'reader.ts', 'else if (timeLeft() <= 0) throw error', ''],
  [
    'a conversation waits as long as it asks for',
    'reader.ts',
    'this.#pause(error, attempt, timeLeft(), conversationId)',
    'this.#pause(error, attempt, undefined, conversationId)',
  ],
  [
    'a conversation is asked again before the time it named',
    'reader.ts',
    '> Date.now()) return undefined',
    '< 0) return',
  ],
  [
    'an outage of slow requests is taken for a broken conversation',
    'reader.ts',
    'if (wasOutage) began = Date.now()\n          else if',
    'if',
  ],
  [
    'a revoked token or a missing scope is taken for a broken conversation',
    'reader.ts',
    "return isSupportWorkspaceError(error) && error.remedy !== 'reconnect'",
    'return isSupportWorkspaceError(error)',
  ],
  [
    'a reading that failed counts',
    'messages.ts',
    "if (!isSecond && row.task !== 'unread') await rows.conversations.update(id, { task: 'unread' })",
    '',
  ],
  [
    'broken conversations that use up a job keep the others from being read',
    'run-pass.ts',
    'Math.floor(Math.random() * ids.length)',
    '0',
  ],
  [
    'a removed conversation that is not watched stays',
    'run-pass.ts',
    'if (settings.watch.has(list)) yield* pass.deliver(list, id)',
    'if (list) yield* pass.deliver(list, id)',
  ],
  [
    'many deletions at once are let through',
    'run-pass.ts',
    'const isHeld = pass.isHeld(list, missing.length, ids.length)',
    'const isHeld = false',
  ],
  [
    'accepted deletions let more through than was held',
    'pass.ts',
    'this.progress.isAccepted ? (this.progress.held[list] ?? 0) : 0',
    'this.progress.isAccepted ? 1e9 : 0',
  ],
  [
    'a message is deleted after one reading',
    'messages.ts',
    'missing.filter((each) => before?.absent.includes(each))',
    'missing',
  ],
  ['deletions of messages come unasked', 'messages.ts', "settings.deletions.has('messages') ?", 'settings.deletions ?'],
  [
    'fingerprints depend on the order of fields',
    'fingerprints.ts',
    'sortedJson(item, names)',
    'JSON.stringify(item, (name, value) => (names.has(name) ? undefined : value))',
  ],
  ['ignored fields count', 'fingerprints.ts', 'sortedJson(item, names)', 'sortedJson(item)'],
  [
    'fingerprints of other rules are compared',
    'fingerprints.ts',
    'return one.slice(0, markLength) === other.slice(0, markLength)',
    'return one !== other',
  ],
  [
    'messages are read only once',
    'run-pass.ts',
    "typeof task === 'number' ? task >= passes || task < recent :",
    "typeof task === 'number' ? false :",
  ],
  ['the second reading does not wait', 'run-pass.ts', 'task >= passes || task < recent', 'task >= 0'],
  [
    'nothing is audited',
    'run-pass.ts',
    'isTurn(print, audited, now, settings.auditEvery)',
    'isTurn(print, now, now, 1)',
  ],
  [
    'the audit reads all conversations at once',
    'fingerprints.ts',
    'Number.parseInt(print.slice(-8), 16) / 2 ** 32',
    'Number.parseInt(print.slice(-8), 16) * 0',
  ],
  [
    'old messages are reported',
    'pass.ts',
    '(secondsOf(time) ?? 0) >= start',
    "(list === 'messages' || (secondsOf(time) ?? 0) >= start)",
  ],
  ['the first pass swallows messages', 'pass.ts', 'isLater || (secondsOf(time) ?? 0) >= start', 'isLater'],
  ['milliseconds are taken for seconds', 'pass.ts', '(secondsOf(time) ?? 0) >= start', '(time ?? 0) >= start'],
  ['the clock decides about what a known conversation gets', 'pass.ts', 'start === 0 || isLater ||', 'start === 0 ||'],
  [
    'a conversation that appears later is not reported',
    'pass.ts',
    'hasBegun(list) ? 0 : start',
    'hasBegun(list) ? start : start',
  ],
  [
    'a row is overwritten whoever has replaced it',
    'records.ts',
    'if (now?.revision !== revision) return { result: undefined }',
    '',
  ],
  [
    'the organization is not compared with the storage',
    'pass.ts',
    'found !== undefined && found.place !== place',
    'found === null',
  ],
  [
    'another token is not asked about',
    'verified-requests.ts',
    'if (authorization === this.#verified) return',
    'if (this.#verified !== undefined) return',
  ],
  [
    'a `/me` without its person is believed for ever',
    'verified-requests.ts',
    'if (this.you !== null) this.#verified',
    'this.#verified',
  ],
  ['the person of the token is a customer', 'messages.ts', "if (author === you) return 'you'", ''],
  ['an acknowledgement removes the other changes', 'records.ts', 'now.outbox.filter((each) => each !== change)', '[]'],
  [
    'what another process has stored meanwhile is left behind',
    'messages.ts',
    "if (last?.revision === now?.revision) await rows.conversations.update(id, { task: 'no' })",
    "await rows.conversations.update(id, { task: 'no' })",
  ],
  [
    'a pass that was interrupted reads everything again',
    'messages.ts',
    'messages?.readFor === row.revision) return',
    'false) return',
  ],
  [
    'a pass that was interrupted does not read what has changed since',
    'messages.ts',
    'messages?.readFor === row.revision) return',
    'messages?.readFor !== undefined) return',
  ],
  [
    'messages of which only a part is stored count as read',
    'messages.ts',
    'changes.length === 0 ? leading.revision : undefined',
    'leading.revision',
  ],
  ['an entry is compared however deep it is', 'entries.ts', 'isDeep(item, mostLevels)', 'isDeep(item, 1e9)'],
  [
    'what a failed pass has not delivered is overwritten',
    'run-pass.ts',
    'for (const id of [...rows[list].pending]) yield* pass.deliver(list, id)\n    const seen',
    'rows[list].pending.clear()\n    const seen',
  ],
  [
    'changes of a list that is not watched are acknowledged',
    'pass.ts',
    'if (!settings.watch.has(resource)) return left\n      yield change',
    'if (settings.watch.has(resource)) yield change',
  ],
  [
    'passes that another process has ended count for the second reading',
    'messages.ts',
    'const task = now?.passes ?? progress.passes',
    'const task = progress.passes',
  ],
  [
    'another process takes its reading before the first for the second',
    'messages.ts',
    'isEnded ? rows.conversations.update(id, { task }) : undefined',
    'undefined',
  ],
]

const root = fileURLToPath(new URL('../../', import.meta.url))
const wanted = process.argv.slice(2).map(Number)
let missed = 0
for (const [index, [title, file, from, to]] of sabotages.entries()) {
  if (wanted.length > 0 && !wanted.includes(index + 1)) continue
  const copy = mkdtempSync(join(tmpdir(), 'sabotage-'))
  for (const name of readdirSync(root)) {
    if (['.git', 'dist', 'docs'].includes(name)) continue
    // The runtimes and job engines that other tests install are large.
    const filter = (path: string) => !path.endsWith('node_modules')
    if (name === 'src' || name === 'test') cpSync(join(root, name), join(copy, name), { recursive: true, filter })
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
