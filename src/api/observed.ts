import type { Observation } from './fact.ts'

/**
 * Results of calls to the live service, for operations by id and for fields as `model.field`. `npm run facts -- FILE
 * --write` writes this file from evidence files.
 */
export const observed: {
  readonly operations: Readonly<Record<string, Observation>>
  readonly fields: Readonly<Record<string, Observation>>
} = {
  operations: {},
  fields: {},
}
