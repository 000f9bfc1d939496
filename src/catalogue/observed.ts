import type { Observation } from './fact.ts'

/**
 * What calls to the live service have shown: operations by id, and fields as `model.field`. `npm run facts -- FILE --write`
 * writes this file from evidence files.
 */
export const observed: {
  readonly operations: Readonly<Record<string, Observation>>
  readonly fields: Readonly<Record<string, Observation>>
} = {
  operations: {},
  fields: {},
}
