import { type ModelName, models, operations } from '../catalogue/index.ts'
import { version } from '../shared/version.ts'
import { documentedField, type EvidenceFile, observationOf, type Sightings } from './evidence-file.ts'

/** An OpenAPI Overlay 1.0.0, which adds observations to the packaged `openapi.json`. */
export interface Overlay {
  readonly overlay: '1.0.0'
  readonly info: { readonly title: string; readonly version: string }
  readonly actions: readonly {
    /** The `x-evidence` object of an operation or a field, as a JSONPath in bracket form (RFC 9535). */
    readonly target: string
    readonly update: { readonly observed: { readonly calls: number; readonly first: string; readonly last: string } }
  }[]
}

/**
 * Returns the observations as an Overlay. Undefined if none of them is about an operation or field of the catalogue.
 */
export function overlayOf({ operations: calls, fields }: EvidenceFile): Overlay | undefined {
  const actions = [...actionsFor(calls, pathOfOperation), ...actionsFor(fields, pathOfField)]
  if (actions.length === 0) return undefined
  return { overlay: '1.0.0', info: { title: 'Observations of the live service', version }, actions }
}

function actionsFor(seen: Sightings, pathOf: (name: string) => string[] | undefined): Overlay['actions'] {
  return Object.entries(seen).flatMap(([name, each]) => {
    const [path, observed] = [pathOf(name), observationOf(each)]
    if (path === undefined || observed === undefined) return []
    return { target: `$${[...path, 'x-evidence'].map((part) => `['${part}']`).join('')}`, update: { observed } }
  })
}

function pathOfOperation(id: string): string[] | undefined {
  const operation = operations[id as keyof typeof operations]
  return operation && ['paths', operation.path, operation.method.toLowerCase()]
}

/** Undocumented fields are not in the document. */
function pathOfField(name: string): string[] | undefined {
  const [model, field = ''] = name.split('.')
  const isKnown = documentedField(name) !== undefined
  return isKnown ? ['components', 'schemas', models[model as ModelName].title, 'properties', field] : undefined
}
