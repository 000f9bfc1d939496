import {
  type CatalogueModel,
  type ModelName,
  models,
  type Observation,
  operations,
  type TraitName,
} from '../api/index.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { type EvidenceFile, mergeEvidence, plainName, type sections, sumOf } from './evidence-file.ts'

type Section = keyof typeof sections

/** The observations of one process, in memory. */
export class Notebook {
  readonly #seen: Record<Section, Record<string, Record<string, Observation>>> = {
    operations: {},
    fields: {},
    traits: {},
  }
  readonly #undetermined: Record<string, string> = {}
  readonly #most: number
  #size = 0

  /** @param most the number of facts that the notebook keeps. Later facts are left out. */
  constructor(most: number) {
    this.#most = most
  }

  /** Notes a fact, and returns whether it is new. */
  note(section: Section, name: string, what: string): boolean {
    const today = new Date().toISOString().slice(0, 10)
    const known = this.#seen[section][name]?.[what]
    if (known === undefined && this.#size >= this.#most) return false
    if (known === undefined) this.#size += 1
    this.#seen[section][name] ??= {}
    this.#seen[section][name][what] = sumOf(known, { calls: 1, first: today, last: today })
    return known === undefined
  }

  /** Notes why a trait was not found. */
  leave(trait: TraitName, reason: string): void {
    this.#undetermined[trait] = reason
  }

  hasReason(trait: TraitName): boolean {
    return Object.hasOwn(this.#undetermined, trait)
  }

  /**
   * Notes a response of an operation that was read, with the fields of its data. Returns whether anything of it is new.
   *
   * @param data what was in `data`, or the whole body of an operation that has no `data`
   */
  noteResponse(id: string, status: number, data: unknown): boolean {
    const operation = operations[id as keyof typeof operations]
    if (operation === undefined) return false
    const isNew = [this.note('operations', id, String(status))]
    if (operation.response !== undefined && status < 300) {
      for (const fact of factsIn(operation.response, Array.isArray(data) ? data : [data])) {
        isNew.push(this.note('fields', fact.slice(0, fact.indexOf(' ')), fact.slice(fact.indexOf(' ') + 1)))
      }
    }
    return isNew.includes(true)
  }

  evidence(): EvidenceFile {
    return structuredClone(mergeEvidence({ version: 1, ...this.#seen, undetermined: this.#undetermined }))
  }
}

/** Maximum number of items of a response to read. More items rarely have new fields, and would slow down the call. */
const mostItems = 50

/**
 * Returns each field of the items with its JSON type: `conversation.status string`. Free-form objects are not looked
 * into.
 */
function factsIn(model: ModelName, items: readonly unknown[]): Set<string> {
  const facts = new Set<string>()
  const objects = items.slice(0, mostItems).filter(isObject)
  const { fields } = models[model]
  for (const [name, field] of Object.entries(fields)) {
    const values = objects.map((item) => (Object.hasOwn(item, name) ? item[name] : undefined))
    for (const value of values) facts.add(`${model}.${name} ${kindOf(value)}`)
    if (field.model === undefined) continue
    for (const fact of factsIn(field.model as ModelName, values.flat())) facts.add(fact)
  }
  for (const fact of undocumentedIn(model, fields, objects)) facts.add(fact)
  return facts
}

/** Returns undocumented fields that at least two items have, because a name in a single item could be data. */
function undocumentedIn(model: string, fields: CatalogueModel['fields'], objects: readonly JsonObject[]): string[] {
  const entries = objects.flatMap((item) => Object.entries(item).filter(([name]) => !Object.hasOwn(fields, name)))
  const named = entries.filter(([name]) => plainName.test(name))
  return named
    .filter(([name]) => named.filter(([other]) => other === name).length > 1)
    .map(([name, value]) => `${model}.${name} ${kindOf(value)}`)
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'absent'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
