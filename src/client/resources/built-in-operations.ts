import type { Evidence, Operation } from '../../core/index.ts'
import { operationsByResource } from '../generated/operations.ts'

type Groups = typeof operationsByResource
type Values<Type> = Type[keyof Type]
type IdOf<Definition> = Definition extends { readonly id: infer Id extends string } ? Id : never

/**
 * The id of a built-in operation, for example `conversations.list`.
 *
 * @useDeclaredType
 */
export type OperationId = Values<{ [Name in keyof Groups]: IdOf<Values<Groups[Name]>> }>

type ReadId = IdOf<Extract<Values<{ [Name in keyof Groups]: Values<Groups[Name]> }>, { method: 'GET' }>>

/** The id of a built-in operation that changes something. */
export type WriteOperationId = Exclude<OperationId, ReadId>

/** A built-in operation. */
export type BuiltInOperation = Operation & { readonly id: OperationId; readonly evidence: Evidence }

/** Every built-in operation, in the order of the documentation. */
export const operations: readonly BuiltInOperation[] = /* @__PURE__ */ listOperations()

/** A function, so that bundlers leave the list out of programs that do not use it, such as a login in a page. */
function listOperations(): BuiltInOperation[] {
  return Object.values(operationsByResource).flatMap((group) => Object.values<BuiltInOperation>(group))
}
