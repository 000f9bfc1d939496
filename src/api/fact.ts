import type { Evidence } from '../core/index.ts'

/** The place where a fact is written. */
export interface Source {
  /** The document, for example `SupportWire API reference`. */
  readonly title: string
  /** The section, page or tool in it, for example `section 4` or `List contacts`. */
  readonly section: string
  /** The day on which this project read it, for example `2026-11-21`. */
  readonly date: string
}

/** The evidence and the sources of a fact. */
export interface Fact {
  /** `specification`, `reference` or `inferred`. */
  readonly evidence: Evidence
  /** The places where the fact is written. For an inferred fact, the places that it is inferred from. */
  readonly sources: readonly Source[]
}

/** A fact in words. */
export interface Statement extends Fact {
  /** One or more sentences in Markdown. */
  readonly text: string
}

/** The day on which the documents were read, because the documents have no date. */
const date = '2026-11-21'

const titles = {
  specification: 'Support Workspace REST API Specification',
  reference: 'SupportWire API reference',
  guides: 'SupportWire guides',
  mcp: 'SupportWire MCP server',
}

/** A section of the specification: `section 4`. */
export function specification(section: string): Source {
  return { title: titles.specification, section, date }
}

/** A page of the vendor's API reference, by its title. */
export function reference(page: string): Source {
  return { title: titles.reference, section: page, date }
}

/** A page of the vendor's guides, by its title. */
export function guide(page: string): Source {
  return { title: titles.guides, section: page, date }
}

/**
 * A tool of the vendor's MCP server. Each maps to an operation of the REST API, whose path and fields are not printed.
 */
export function mcpTool(name: string): Source {
  return { title: titles.mcp, section: `tool \`${name}\``, date }
}

/** Returns the evidence that a source gives for the REST API. A fact from the MCP server is only inferred. */
export function factFrom(source: Source): Fact {
  const { title } = source
  const evidence = title === titles.specification ? 'specification' : title === titles.mcp ? 'inferred' : 'reference'
  return { evidence, sources: [source] }
}

/** A fact that is written in a document. With several sources, the first one decides the evidence. */
export function fact(text: string, source: Source, ...more: Source[]): Statement {
  const { evidence, sources } = factFrom(source)
  return { text, evidence, sources: [...sources, ...more] }
}

/** A fact that is inferred from sources. */
export function inferred(text: string, ...sources: Source[]): Statement {
  return { text, evidence: 'inferred', sources }
}

/** Freezes a value and everything in it. */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
