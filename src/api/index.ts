// The facts about the service, as frozen plain data: each operation and each field with its evidence and its sources.
// Written by hand, and the source of src/client/generated. The client does not import this folder, so that its bundle
// stays small.

export type { Fact, Source } from './fact.ts'
export type { ApiField, ApiModel } from './models/field.ts'
export { type ModelName, models } from './models.ts'
export type { ApiOperation } from './operations/operation.ts'
export { operations } from './operations.ts'
