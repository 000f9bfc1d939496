import * as z from 'zod/mini'
import { models, type Observation, operations, traits } from '../catalogue/index.ts'
import { InvalidArgumentError } from '../shared/errors/index.ts'
import { parseObject } from '../shared/json.ts'

/** Observations by name, and below it by what was seen. */
export type Sightings = Readonly<Record<string, Readonly<Record<string, Observation>>>>

/** What calls to a service have shown: names of the catalogue, counts and days. It has no value, id or text of the service. */
export interface EvidenceFile {
  readonly version: 1
  /** By the id of the operation, and below it by status: `{ "contacts.get": { "200": … } }`. */
  readonly operations: Sightings
  /** By model and field, and below it by JSON type, or `absent`: `{ "conversation.status": { "string": … } }`. */
  readonly fields: Sightings
  /** How the service behaves, by trait, and below it by what was found: `{ "limit.default": { "20": … } }`. */
  readonly traits: Sightings
  /** What it would take to find a trait that was not found. */
  readonly undetermined: Readonly<Record<string, string>>
}

/** The JSON types of a field, `null` and `absent` included. */
const kinds = ['string', 'number', 'boolean', 'object', 'array', 'null', 'absent'] as const

/** The form of a field's name that is reported. Others might be data. */
export const plainName = /^[a-z][a-z0-9_]{0,39}$/

const day = z.string().check(z.regex(/^\d{4}-\d\d-\d\d$/))
const observation = z.strictObject({ calls: z.int().check(z.gte(1)), first: day, last: day })
const sightings = (name: RegExp, seen: RegExp) =>
  z.record(z.string().check(z.regex(name)), z.record(z.string().check(z.regex(seen)), observation))

const oneOf = (names: readonly string[]) => new RegExp(`^(${names.join('|').replaceAll('.', '[.]')})$`)
const traitNames = oneOf(Object.keys(traits))

/** The schema of an evidence file, which the build writes as JSON Schema. */
export const evidenceSchema = z.strictObject({
  version: z.literal(1),
  operations: sightings(oneOf(Object.keys(operations)), /^[1-5]\d\d$/),
  fields: sightings(new RegExp(`^(${Object.keys(models).join('|')})[.][a-z][a-z0-9_]{0,39}$`), oneOf(kinds)),
  traits: sightings(traitNames, /^[a-zA-Z0-9_, -]{1,80}$/),
  undetermined: z.record(z.string().check(z.regex(traitNames)), z.string().check(z.maxLength(200))),
})

/**
 * Returns the evidence in the text of a file.
 *
 * @throws InvalidArgumentError if it is not an evidence file, without quoting it.
 */
export function parseEvidence(text: string): EvidenceFile {
  const parsed = evidenceSchema.safeParse(parseObject(text))
  if (parsed.success) return parsed.data
  const [section = 'version'] = parsed.error.issues[0]?.path ?? []
  const problem = `The file is not an evidence file: \`${String(section)}\` has another form.`
  throw new InvalidArgumentError('file', problem, 'Pass a file that `probe` or a recorder of this version wrote.')
}

/**
 * Merges evidence from several runs: the sum of the calls, the earliest first and the latest last day. A trait that one of them
 * found is no longer undetermined.
 */
export function mergeEvidence(...files: readonly EvidenceFile[]): EvidenceFile {
  const traits = mergeSightings(files.map((file) => file.traits))
  const reasons = Object.entries(Object.assign({}, ...files.map(({ undetermined }) => undetermined)))
  return {
    version: 1,
    operations: mergeSightings(files.map((file) => file.operations)),
    fields: mergeSightings(files.map((file) => file.fields)),
    traits,
    undetermined: Object.fromEntries(reasons.filter(([name]) => !Object.hasOwn(traits, name))) as Record<
      string,
      string
    >,
  }
}

function mergeSightings(all: readonly Sightings[]): Sightings {
  const merged: Record<string, Record<string, Observation>> = {}
  for (const [name, seen] of all.flatMap((each) => Object.entries(each))) {
    merged[name] ??= {}
    for (const [what, next] of Object.entries(seen)) merged[name][what] = sumOf(merged[name][what], next)
  }
  const sorted = Object.entries(merged).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted)
}

/** Returns two observations as one. */
export function sumOf(one: Observation | undefined, { calls, first, last }: Observation): Observation {
  if (one === undefined) return { calls, first, last }
  return {
    calls: one.calls + calls,
    first: first < one.first ? first : one.first,
    last: last > one.last ? last : one.last,
  }
}

/** Returns what was seen of an operation: calls that succeeded. Of a field: calls that returned it. */
export function observationOf(seen: Readonly<Record<string, Observation>>): Observation | undefined {
  return Object.entries(seen)
    .filter(([what]) => what !== 'absent' && !/^[1345]\d\d$/.test(what))
    .reduce<Observation | undefined>((total, [, each]) => sumOf(total, each), undefined)
}
