/**
 * The facts about the service, as frozen plain data. Each operation and each field has its evidence and its sources.
 */

// The client does not import this folder, so that its bundle stays small. A test compares the facts with the client's
// operations, schemas and comments.

export type { Evidence } from '../core/index.ts'
export type { Fact, Source, Statement } from './fact.ts'
export type { CatalogueField, CatalogueModel } from './models/field.ts'
export { type ModelName, models } from './models.ts'
export type { CatalogueOperation } from './operations/operation.ts'
export { operations } from './operations.ts'
export type { Topic } from './topics/topic.ts'
export { topics } from './topics.ts'
