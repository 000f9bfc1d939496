import { frozen } from './fact.ts'
import { bodies } from './models/bodies.ts'
import { envelopes } from './models/envelopes.ts'
import type { ApiModel, ModelEntry } from './models/field.ts'
import { resources } from './models/resources.ts'

/** The name of a model, for example `conversation`. */
export type ModelName = keyof typeof resources | keyof typeof bodies | keyof typeof envelopes

/**
 * The JSON objects that the service returns or takes, by name, as frozen plain data. Each field has the evidence of its
 * name and type, its meaning, and whether it can be null or absent.
 */
export const models: Readonly<Record<ModelName, ApiModel>> = /* @__PURE__ */ withTitles()

function withTitles(): Record<ModelName, ApiModel> {
  const all: Record<string, ModelEntry> = { ...resources, ...bodies, ...envelopes }
  const named = Object.entries(all).map(([name, model]) => {
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
    return [name, { title, ...model }]
  })
  return frozen(Object.fromEntries(named))
}
