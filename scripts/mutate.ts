// Runs mutation tests and compares the mutants that survive with `test/mutation-survivors.json`, which gives a reason for
// each. Fails on a score below 92 % in a module, or on a survivor that is not listed.
//
//   npm run mutate                       all modules
//   npm run mutate -- src/core/retry.ts  the given files
//   npm run mutate -- --changed          the files that differ from the main branch
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { Stryker } from '@stryker-mutator/core'

interface Mutant {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: string
  readonly static?: boolean
  readonly location: { readonly start: Position; readonly end: Position }
}
interface Position {
  readonly line: number
  readonly column: number
}
interface Survivor {
  readonly file: string
  readonly mutator: string
  readonly original: string
  readonly replacement: string
}
type ListedSurvivor = Survivor & { readonly reason: string }

const lowestScore = 92

const given = process.argv.slice(2)
const files = given[0] === '--changed' ? changedFiles() : given
if (given.length > 0 && files.length === 0) {
  console.log('No mutated file has changed.')
  process.exit()
}
await new Stryker(files.length > 0 ? { mutate: files } : {}).runMutationTest()

const report = JSON.parse(await readFile('artifacts/mutation/report.json', 'utf8')) as {
  files: Record<string, { source: string; mutants: Mutant[] }>
}
const listed = JSON.parse(await readFile('test/mutation-survivors.json', 'utf8')) as ListedSurvivor[]
const modules = new Map<string, { killed: number; total: number }>()
const unlisted: (Survivor & { line: number })[] = []
const found = new Set<string>()
for (const [file, { source, mutants }] of Object.entries(report.files)) {
  const module = file.replace(/^src\//, '').replace(/\/.*|\.ts$/, '')
  const score = modules.get(module) ?? { killed: 0, total: 0 }
  modules.set(module, score)
  // One that runs while its module is loaded is tried with the tests that load a copy only.
  for (const mutant of mutants.filter((each) => !each.static)) {
    if (mutant.status === 'Killed' || mutant.status === 'Timeout') score.killed += 1
    else if (mutant.status !== 'Survived' && mutant.status !== 'NoCoverage') continue
    score.total += 1
    if (mutant.status === 'Killed' || mutant.status === 'Timeout') continue
    const survivor = {
      file,
      mutator: mutant.mutatorName,
      original: textAt(source, mutant.location),
      replacement: mutant.replacement ?? '',
    }
    found.add(keyOf(survivor))
    if (!listed.some((entry) => keyOf(entry) === keyOf(survivor))) {
      unlisted.push({ ...survivor, line: mutant.location.start.line })
    }
  }
}

let failed = unlisted.length > 0
for (const { file, line, mutator, original, replacement } of unlisted) {
  console.log(`${file}:${line} ${mutator} survived\n  - ${original}\n  + ${replacement}`)
}
for (const entry of listed.filter(({ file }) => file in report.files)) {
  if (!found.has(keyOf(entry))) console.log(`${entry.file}: a listed survivor is killed now: ${entry.replacement}`)
}
for (const [module, { killed, total }] of modules) {
  const score = total === 0 ? 100 : (100 * killed) / total
  failed ||= score < lowestScore
  console.log(`${module}: ${score.toFixed(1)} % (${killed} of ${total} mutants killed)`)
}
console.log(`${unlisted.length} survivors are not listed in test/mutation-survivors.json.`)
process.exitCode = failed ? 1 : 0

function changedFiles(): string[] {
  const changed = execFileSync('git', ['diff', '--name-only', '--diff-filter=d', 'main'], { encoding: 'utf8' })
  return changed.split('\n').filter((file) => /^src\/(core|oauth|connections)\//.test(file))
}

function keyOf({ file, mutator, original, replacement }: Survivor): string {
  return JSON.stringify([file, mutator, original, replacement])
}

function textAt(source: string, { start, end }: Mutant['location']): string {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  lines.push((lines.pop() ?? '').slice(0, end.column - 1))
  lines.unshift((lines.shift() ?? '').slice(start.column - 1))
  return lines.join('\n')
}
