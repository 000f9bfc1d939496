import { type CatalogueField, type ModelName, models, type Observation, operations, traits } from '../api/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { isObject, parseObject } from '../shared/json.ts'

/** Observations by name and finding. For example, the name `limit.default` and the finding `20`. */
export type Sightings = Readonly<Record<string, Readonly<Record<string, Observation>>>>

/**
 * Observations from calls to a service: names of the catalogue, counts and days, without values, ids or texts of the
 * service.
 */
export interface EvidenceFile {
  /** The version of the format. */
  readonly version: 1
  /** Operations by id and status: `{ "contacts.get": { "200": … } }`. */
  readonly operations: Sightings
  /** Fields by name and JSON type, or `absent`: `{ "conversation.status": { "string": … } }`. */
  readonly fields: Sightings
  /** Traits of the service by name and finding: `{ "limit.default": { "20": … } }`. */
  readonly traits: Sightings
  /** The traits that were not found, each with the reason, for example that a list has too few entries. */
  readonly undetermined: Readonly<Record<string, string>>
}

/** The JSON types of a field, `null` and `absent` included. */
const kinds = ['string', 'number', 'boolean', 'object', 'array', 'null', 'absent'] as const

/** The format of a field name that is reported. Names in another format might be data. */
export const plainName = /^[a-z][a-z0-9_]{0,39}$/

const oneOf = (names: readonly string[]) => new RegExp(`^(${names.join('|').replaceAll('.', '[.]')})$`)

/** The sections of observations: the form of a name, and of what was seen. The schema of the files is made of them. */
export const sections = {
  operations: { name: oneOf(Object.keys(operations)), seen: /^[1-5]\d\d$/ },
  fields: { name: new RegExp(`^(${Object.keys(models).join('|')})[.][a-z][a-z0-9_]{0,39}$`), seen: oneOf(kinds) },
  traits: { name: oneOf(Object.keys(traits)), seen: /^[a-zA-Z0-9_, -]{1,80}$/ },
} as const

/** The form of a day. */
export const day = /^\d{4}-\d\d-\d\d$/

/**
 * Returns the evidence in the text of a file.
 *
 * @throws InvalidArgumentError if the text is not an evidence file. The message does not quote the text.
 */
export function parseEvidence(text: string): EvidenceFile {
  const file = parseObject(text) ?? {}
  const names = Object.keys(sections) as (keyof typeof sections)[]
  const isOdd = [...names, 'version', 'undetermined', ...Object.keys(file)].find((name) => !isSection(name, file[name]))
  if (isOdd === undefined) return file as unknown as EvidenceFile
  const problem = `The file is not an evidence file: \`${plainName.test(isOdd) ? isOdd : 'a section'}\` has another form.`
  throw new InvalidArgumentError('file', problem, 'Pass a file that `probe` or a recorder of this version wrote.')
}

function isSection(section: string, value: unknown): boolean {
  if (section === 'version') return value === 1
  if (!isObject(value)) return false
  if (section === 'undetermined') {
    const isReason = (reason: unknown) => typeof reason === 'string' && reason.length <= 200
    return Object.entries(value).every(([name, reason]) => sections.traits.name.test(name) && isReason(reason))
  }
  if (!Object.hasOwn(sections, section)) return false
  const { name, seen } = sections[section as keyof typeof sections]
  return Object.entries(value).every(([key, each]) => {
    return (
      name.test(key) &&
      isObject(each) &&
      Object.entries(each).every(([what, it]) => seen.test(what) && isObservation(it))
    )
  })
}

function isObservation(value: unknown): boolean {
  if (!isObject(value) || Object.keys(value).length !== 3) return false
  const { calls, first, last } = value
  return Number.isInteger(calls) && Number(calls) > 0 && day.test(String(first)) && day.test(String(last))
}

/**
 * Merges evidence from several runs: the sum of the calls, the earliest first and the latest last day. A trait that one
 * of them found is no longer undetermined.
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

/** Returns the sum of the calls of an operation that succeeded, or of the calls that returned a field. */
export function observationOf(seen: Readonly<Record<string, Observation>>): Observation | undefined {
  return Object.entries(seen)
    .filter(([what]) => what !== 'absent' && !/^[1345]\d\d$/.test(what))
    .reduce<Observation | undefined>((total, [, each]) => sumOf(total, each), undefined)
}

/**
 * Returns the field of the catalogue with this name, for example `contact.blocked`, or undefined if no document has it.
 */
export function documentedField(name: string): CatalogueField | undefined {
  const [model, field = ''] = name.split('.')
  const { fields } = models[model as ModelName]
  return Object.hasOwn(fields, field) ? fields[field] : undefined
}
