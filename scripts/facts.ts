// Shows evidence files of probes and recorders, and what they change in the catalogue. With --write, changes it: an operation
// or a field that was observed stays as certain as it was, and has the number of calls and their days.
//
//   npm run facts -- evidence.json other.json --write
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { observed } from '../src/api/observed.ts'
import {
  describeEvidence,
  documentedField,
  type EvidenceFile,
  mergeEvidence,
  observationOf,
  parseEvidence,
  type Sightings,
  sumOf,
} from '../src/evidence/index.ts'

const path = fileURLToPath(new URL('../src/api/observed.ts', import.meta.url))

if (import.meta.main) {
  const files = process.argv.slice(2).filter((argument) => argument !== '--write')
  const evidence = mergeEvidence(...files.map((file) => parseEvidence(readFileSync(file, 'utf8'))))
  const text = withEvidence(readFileSync(path, 'utf8'), evidence)
  console.log([...describeEvidence(evidence), '', `Proposed for src/api/observed.ts:`, '', text].join('\n'))
  if (process.argv.includes('--write')) {
    writeFileSync(path, text)
    console.log(
      'It is written. Run `npm run format` and `npm run docs`, and answer the questions above in src/api/topics/.',
    )
  }
}

/** Returns the text of `observed.ts` with the observations of operations and documented fields added. */
export function withEvidence(text: string, { operations, fields }: EvidenceFile): string {
  const all = {
    operations: added(observed.operations, operations),
    fields: added(
      observed.fields,
      Object.fromEntries(Object.entries(fields).filter(([name]) => documentedField(name) !== undefined)),
    ),
  }
  return text.replace(/(?<=\n\} = )[\s\S]*$/, `${JSON.stringify(all, null, 2)}\n`)
}

type Observed = (typeof observed)['operations']

function added(known: Observed, seen: Sightings): Observed {
  const next = Object.entries(seen).flatMap(([name, each]) => {
    const observation = observationOf(each)
    return observation === undefined ? [] : [[name, sumOf(known[name], observation)] as const]
  })
  return { ...known, ...Object.fromEntries(next) }
}
