import { type ModelName, models, operations } from '../api/index.ts'
import { version } from '../shared/version.ts'
import { documentedField, type EvidenceFile, observationOf, type Sightings } from './evidence-file.ts'

/** An OpenAPI Overlay 1.0.0, which adds observations to the packaged `openapi.json`. */
export interface Overlay {
  /** The version of the OpenAPI Overlay Specification. */
  readonly overlay: '1.0.0'
  /** Title and version of the overlay. */
  readonly info: {
    /** For example `Observations of the live service`. */
    readonly title: string
    /** The version of this package. */
    readonly version: string
  }
  /** The changes to `openapi.json`, one for each observed operation or field. */
  readonly actions: readonly {
    /** The `x-evidence` object of an operation or a field, as a JSONPath in bracket form (RFC 9535). */
    readonly target: string
    /** The change to the `x-evidence` object. */
    readonly update: {
      /** The observation, as in the catalogue. */
      readonly observed: {
        /** Number of calls. */
        readonly calls: number
        /** Day of the first call, for example `2026-11-21`. */
        readonly first: string
        /** Day of the last call. */
        readonly last: string
      }
    }
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
