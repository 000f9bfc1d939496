/**
 * Breaks the approvals in one place after the other, in a copy, and shows which test notices.
 *
 *   npm run approvals-sabotages -- [numbers]
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

type Sabotage = readonly [title: string, file: string, from: string, to: string]

const sabotages: readonly Sabotage[] = [
  // A control: the tests pass in the copy.
  ['nothing is broken', 'approvals/index.ts', '@module', '@module'],
  [
    'staleness is not checked',
    'approvals/look.ts',
    "if (!(await isOurs())) throw new Prevented('stale'",
    "if (message.id === '') throw new Prevented('stale'",
  ],
  [
    'staleness is checked only in the function of the journal',
    'approvals/sender.ts',
    'journal.once(key, (client) => client.callAgain(operation, input, { signal }), once)',
    `journal.once(key, async (client) => {
        await before(client, entry.content)
        return client.callAgain(operation, input, { signal })
      }, { answers: once.answers })`,
  ],
  [
    'an expiry is checked only before the journal is asked',
    'approvals/look.ts',
    "    if (isOver(this.entry)) throw new Prevented('expired', 'It has expired.')\n",
    '',
  ],
  [
    'the token of another person may send',
    'approvals/look.ts',
    'if (person?.service !== service || person.organization !== organization || person.author !== author) {',
    "if (author === '') {",
  ],
  [
    'a write is sent whatever became of the proposal',
    'approvals/records.ts',
    '!isApproved && !isResult',
    '!isApproved && !isResult && write === null',
  ],
  [
    'a write is sent although another text was approved meanwhile',
    'approvals/records.ts',
    ' && isSameVersion(now, ours?.entry)',
    '',
  ],
  [
    'the record of the write is forgotten',
    'approvals/records.ts',
    'get: async (key) => (await this.get(key))?.write,',
    'get: async () => undefined,',
  ],
  ['the storage is written without comparing', 'journal/records.ts', 'isSame(now, expected) ?', 'isSame(now, now) ?'],
  [
    'a digest is not compared when approving',
    'approvals/approvals.ts',
    "if (!isSeen) throw notAllowed(key, 'approved', now, 'is not what the person saw')",
    '',
  ],
  [
    'an edit is of whatever was there before',
    'approvals/approvals.ts',
    'now.digest === digest && (edit === undefined || before?.digest === digest)',
    'now.digest === digest',
  ],
  [
    'an approval can be changed',
    'approvals/approvals.ts',
    "if (now?.state !== 'pending') throw notAllowed(key, 'approved', now)",
    "if (now?.state !== 'pending' && now?.state !== 'approved') throw notAllowed(key, 'approved', now)",
  ],
  [
    'an edit keeps the digest',
    'approvals/capture.ts',
    'return { digest: await digestOf(content), content }',
    'return { digest: await digestOf(before), content }',
  ],
  [
    'what is being sent can be rejected',
    'approvals/approvals.ts',
    "if (now?.state !== 'pending' && now?.state !== 'approved') throw notAllowed(key, 'rejected', now)",
    "if (now === undefined || isFinal(now)) throw notAllowed(key, 'rejected', now)",
  ],
  [
    'what might have been sent can become stale',
    'approvals/sender.ts',
    "if (now.state === 'sending' && state !== 'sent') return { result: 'elsewhere' }\n      const isDue = now.state === (state === 'sent' ? 'sending' : 'approved') ||",
    'const isDue = isSame ||',
  ],
  [
    'an approved proposal can be replaced',
    'approvals/approvals.ts',
    "if (now.state === 'pending') return replace",
    "if (now.state === 'pending' || now.state === 'approved') return replace",
  ],
  [
    'what was sent can begin anew',
    'approvals/approvals.ts',
    "again === true && isFinal(now) && now.state !== 'sent'",
    'again === true && isFinal(now)',
  ],
  [
    'a key that has ended can begin anew without being asked',
    'approvals/records.ts',
    'return open !== undefined && open.epoch > (final?.epoch ?? 0)',
    'return open !== undefined',
  ],
  [
    'an entry is removed before it is final',
    'approvals/records.ts',
    'return isFinal(open) ? { write: open, result: true } : { result: false }',
    'return { result: isFinal(open) }',
  ],
  ['an edited entry is sent', 'approvals/sender.ts', '!(await isIntact(entry))', "entry.digest === ''"],
  ['the text is not part of the digest', 'approvals/proposal.ts', 'v1: (content)', 'v1: ({ text, ...content })'],
  [
    'another proposal of the same basis makes it stale',
    'approvals/records.ts',
    'if (id === undefined || content.known === undefined) return',
    "if (id !== '') return",
  ],
  [
    'a second write is ignored',
    'approvals/capture.ts',
    "if (writes > 1) throw misuse('makes more than one write')\n",
    '',
  ],
  [
    'proposing sends',
    'approvals/capture.ts',
    '      writes += 1\n',
    '      writes += 1\n      void next(call).catch(() => {})\n',
  ],
  [
    'an encrypted text may be copied to another key',
    'storage/stored-texts.ts',
    'if (value.key !== key) return',
    'if (value.key === undefined) return',
  ],
  [
    'texts that are not encrypted are taken with a secret',
    'approvals/records.ts',
    "storedTexts(secret, 'approval')",
    "storedTexts(undefined, 'approval')",
  ],
  [
    'two ends are reported',
    'approvals/sender.ts',
    'const isSame = now !== undefined && !isFinal(now) &&',
    'const isSame = now !== undefined &&',
  ],
  ['a message of the second of the basis counts as known', 'approvals/basis.ts', '< askedAt', '<= askedAt'],
  [
    'the key of a journal on the same storage is not looked for',
    'journal/sending.ts',
    'this.#shared.records.isForeign(this.#key)',
    'Promise.resolve(false)',
  ],
  [
    'the key of a journal is looked for before the own record is written',
    'journal/sending.ts',
    `await attempt.untilEnd(this.#then(() => this.#take()))
      // Only with both records written first, at least one of two that begin at the same moment sees the other.
      const isForeign = await attempt.untilEnd(this.#shared.records.isForeign(this.#key))`,
    `const isForeign = await attempt.untilEnd(this.#shared.records.isForeign(this.#key))
      await attempt.untilEnd(this.#then(() => this.#take()))`,
  ],
  [
    'a damaged entry is skipped when a lost write is looked for',
    'approvals/records.ts',
    'shelf.pages(onUnreadable)) {\n        yield',
    'shelf.pages(() => {})) {\n        yield',
  ],
  [
    'the look comes before the wait for the limit',
    'journal/sending.ts',
    'if (this.#before !== undefined) await this.#look(this.#before, attempt)',
    'if (this.#before !== undefined && !this.hasLooked) await this.#look(this.#before, attempt)\n      this.hasLooked = true',
  ],
  [
    'what the look has let pass is taken for a lost reply',
    'approvals/look.ts',
    '    this.passed.add(message.id)\n',
    '',
  ],
  [
    'a list that begins with the oldest message is not read again',
    'approvals/look.ts',
    'this.#isWhole = isSorted && isTelling',
    'this.#isWhole = true',
  ],
  [
    'a reply that is being sent is overtaken where the clock of the machine is wrong',
    'approvals/sender.ts',
    'Math.abs(this.#clock.now() - changedAt)',
    'Math.abs(Date.now() - changedAt)',
  ],
]

const root = fileURLToPath(new URL('../../', import.meta.url))
const wanted = process.argv.slice(2).map(Number)
let caught = 0
let count = 0
for (const [title, file, from] of sabotages) {
  const times = readFileSync(join(root, 'src', file), 'utf8').split(from).length - 1
  if (times !== 1) throw new Error(`${title}: the text is there ${times} times.`)
}
for (const [number, [title, file, from, to]] of sabotages.entries()) {
  if (wanted.length > 0 && !wanted.includes(number)) continue
  const copy = mkdtempSync(join(tmpdir(), 'sabotage-'))
  for (const name of readdirSync(root)) {
    if (['src', 'test', 'proofs'].includes(name) || name.endsWith('.ts') || name.endsWith('.json')) {
      // The runtimes and job engines that other tests install are large.
      const filter = (path: string) => !path.endsWith('node_modules')
      cpSync(join(root, name), join(copy, name), { recursive: true, filter })
    } else if (name !== '.git') symlinkSync(join(root, name), join(copy, name))
  }
  writeFileSync(
    join(copy, 'src', file),
    readFileSync(join(root, 'src', file), 'utf8').replace(from, () => to),
  )
  const start = Date.now()
  const run = (...tests: string[]) =>
    spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...tests, '--bail=1', '--reporter=verbose'], {
      cwd: copy,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
      timeout: 600_000,
    })
  const tested = run('test/approvals')
  const { status, stdout, stderr } =
    tested.status === 0 ? run('--config', 'vitest.slow.config.ts', 'proofs/approvals') : tested
  const first = /FAIL +\S+ > (.*)\n(.*)/.exec(stdout + stderr)
  if (number === 0 && status !== 0) throw new Error(`The tests fail without a sabotage.\n${stdout}${stderr}`)
  if (number > 0) count += 1
  if (number > 0 && status !== 0 && !first) throw new Error(`${title}: no test ran.\n${stdout}${stderr}`)
  if (number > 0 && status !== 0) caught += 1
  const seconds = Math.round((Date.now() - start) / 1000)
  const how = status === 0 ? '' : `${first?.[1]?.slice(0, 70)} | ${first?.[2]?.slice(0, 90)}`
  console.log(
    `| ${number} | ${title} | ${number === 0 ? 'passed' : status === 0 ? 'MISSED' : 'caught'} in ${seconds} s | ${how} |`,
  )
  rmSync(copy, { recursive: true })
}
console.log(`${caught} of ${count} caught`)
