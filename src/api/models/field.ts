import { type Fact, factFrom, guide, mcpTool, reference, type Source, type Statement } from '../fact.ts'

/** The facts about a field. `evidence` and `sources` are about its name and type. */
export interface ApiField extends Fact {
  /** The JSON type. An `object` without `model` is free-form. */
  readonly type: 'string' | 'integer' | 'boolean' | 'object' | 'array'
  /** The model of the object, or of the items of the array. */
  readonly model?: string
  /** The type of the items of an array of plain values. */
  readonly items?: 'string'
  /** Unit or notation, if a source names it. */
  readonly format?: 'epoch-seconds' | 'date-time' | 'email' | 'html'
  /** The type that the client has for the documented values. The service can return others. */
  readonly values?: 'Actor' | 'Role'
  /**
   * Whether a source says that the field is always there. This is an id in a response, or a required field of a
   * request.
   */
  readonly required: boolean
  /** The meaning of the field. */
  readonly meaning: Statement
  /** The evidence that the field can be null or absent. Undefined for required fields and in requests. */
  readonly nullable?: Fact
}

/** The facts about a JSON object. `evidence` and `sources` are about its existence. */
export interface ApiModel extends Fact {
  /** The name as a type, for example `ConversationAssignee`. */
  readonly title: string
  /** A sentence that describes the object. */
  readonly text: string
  /** Whether the service returns other fields, because no source lists the fields of this object. */
  readonly isOpen: boolean
  /** The fields by name. */
  readonly fields: Readonly<Record<string, ApiField>>
}

/** A model before its name is known. Without `title`, the title is made from the name. */
export type ModelEntry = Omit<ApiModel, 'title'> & Partial<Pick<ApiModel, 'title'>>

type Kind = Pick<ApiField, 'type' | 'model' | 'items' | 'format' | 'values'>
/** The kind and the meaning of a field, before its model is known. */
export interface FieldPart extends Kind {
  readonly text: string
  /** The source of the meaning. Without this source, the meaning is inferred from the name (except for `id`). */
  readonly meaningFrom?: Source
  /** The source of the field, if it differs from the source of the model. */
  readonly knownFrom?: Source
  /** The source which says that the field can be null. */
  readonly nullFrom?: Source
  readonly isOptional?: boolean
}

export const text = (text: string): FieldPart => ({ type: 'string', text })
export const role = (text: string): FieldPart => ({ type: 'string', values: 'Role', text })
export const flag = (text: string): FieldPart => ({ type: 'boolean', text })
export const count = (text: string): FieldPart => ({ type: 'integer', text })
export const html = (text: string): FieldPart => ({ type: 'string', format: 'html', text })
export const freeForm = (text: string): FieldPart => ({ type: 'object', text })
export const one = (model: string, text: string): FieldPart => ({ type: 'object', model, text })
export const many = (model: string, text: string): FieldPart => ({ type: 'array', model, text })
export const texts = (text: string): FieldPart => ({ type: 'array', items: 'string', text })

/** A timestamp. The specification says: "Unix epoch seconds unless stated otherwise". */
export function time(event: string): FieldPart {
  return { type: 'integer', format: 'epoch-seconds', text: `${event}, in seconds since the Unix epoch.` }
}

/** Returns the field with a source for its meaning. */
export function told(source: Source, part: FieldPart): FieldPart {
  return { ...part, meaningFrom: source }
}

/** Returns the field as inferred, because only a tool of the vendor's MCP server has it. */
export function fromTool(tool: string, part: FieldPart): FieldPart {
  return { ...part, isOptional: true, knownFrom: mcpTool(tool) }
}

type Parts = Readonly<Record<string, FieldPart>>

/**
 * A model of responses from samples. They show name and type of each field, but not whether it can be null or absent.
 */
export function sampled(text: string, pages: readonly string[], parts: Parts): ModelEntry {
  return response(text, { evidence: 'reference', sources: pages.map(reference) }, parts)
}

/** A model of responses from a text, which also explains the meaning of each field. */
export function fromDocument(text: string, source: Source, parts: Parts): ModelEntry {
  const described = Object.entries(parts).map(([name, part]) => [name, told(source, part)])
  return response(text, factFrom(source), Object.fromEntries(described))
}

function response(text: string, known: Fact, parts: Parts): ModelEntry {
  return modelOf(text, known, parts, (name, { nullFrom }) => {
    const nullable: Fact = nullFrom ? factFrom(nullFrom) : { evidence: 'inferred', sources: known.sources }
    return name === 'id' ? { required: true } : { required: false, nullable }
  })
}

/** A model of requests. Samples print the required fields only. */
export function requested(text: string, source: Source, parts: Parts): ModelEntry {
  return modelOf(text, factFrom(source), parts, (_, { isOptional }) => ({ required: isOptional !== true }))
}

/** A model that the documents name without its fields. */
export function unknownFields(text: string, parts: Parts = {}): ModelEntry {
  const known: Fact = { evidence: 'inferred', sources: [guide('Scopes')] }
  return { ...modelOf(text, known, parts, () => ({ required: true })), isOpen: true }
}

type Presence = Pick<ApiField, 'required' | 'nullable'>

function modelOf(
  text: string,
  known: Fact,
  parts: Parts,
  presenceOf: (name: string, part: FieldPart) => Presence,
): ModelEntry {
  const fields = Object.entries(parts).map(([name, part]) => {
    return [name, { ...fieldOf(name, part, known), ...presenceOf(name, part) }]
  })
  return { text, ...known, isOpen: false, fields: Object.fromEntries(fields) }
}

function fieldOf(name: string, part: FieldPart, known: Fact): Omit<ApiField, 'required'> {
  const { text, meaningFrom, knownFrom, nullFrom, isOptional, ...kind } = part
  const own = knownFrom ? factFrom(knownFrom) : known
  const guess: Fact = name === 'id' ? own : { evidence: 'inferred', sources: own.sources }
  const meaning = meaningFrom ? factFrom(meaningFrom) : guess
  return { ...kind, ...own, meaning: { text, ...meaning } }
}
