import { operations, traits } from '../api/index.ts'
import { documentedField, type EvidenceFile, observationOf } from './evidence-file.ts'

/**
 * Returns evidence as lines for people: the traits, then observed operations and fields that the catalogue infers or
 * lacks.
 */
export function describeEvidence({ operations: calls, fields, traits: found, undetermined }: EvidenceFile): string[] {
  const questions = traits as Readonly<Record<string, string>>
  return [
    ...Object.entries(found).map(([name, seen]) => `${questions[name]} ${Object.keys(seen).join(' or ')}`),
    ...Object.entries(undetermined).map(([name, reason]) => `${questions[name]} Undetermined. ${reason}`),
    ...Object.entries(calls).flatMap(([id, seen]) => {
      const observed = observationOf(seen)
      const isGuess = operations[id as keyof typeof operations]?.evidence === 'inferred'
      if (!isGuess || observed === undefined) return []
      return `${id} is inferred, and was observed in ${observed.calls} ${observed.calls === 1 ? 'call' : 'calls'} from ${observed.first} to ${observed.last}.`
    }),
    ...Object.entries(fields).flatMap(([name, seen]) => {
      const known = documentedField(name)
      const kinds = Object.keys(seen).filter((kind) => kind !== 'absent')
      if (known === undefined) return `${name} is not documented, and was ${kinds.join(' or ')}.`
      const type = known.type === 'integer' ? 'number' : known.type
      const others = kinds.filter((kind) => kind !== type && kind !== 'null')
      return others.length === 0 ? [] : `${name} is documented as ${known.type}, and was ${others.join(' or ')}.`
    }),
  ]
}
