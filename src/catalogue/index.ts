/**
 * What is known of the service, as frozen plain data: each operation and each field, how it is known and from where.
 *
 * @module support-workspace-sdk/catalogue
 */

// No client imports this folder, so that the facts are no part of a bundle of the client. A test compares them with the
// client's operations, schemas and comments.

export type { Evidence } from '../core/index.ts'
export type { Fact, Observation, Source, Statement } from './fact.ts'
export type { CatalogueField, CatalogueModel } from './models/field.ts'
export { type ModelName, models } from './models.ts'
export type { CatalogueOperation } from './operations/operation.ts'
export { operations } from './operations.ts'
export type { Topic } from './topics/topic.ts'
export { topics } from './topics.ts'
export { type TraitName, traits } from './traits.ts'
