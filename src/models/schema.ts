// src/models holds the interfaces of the service's objects and their schemas. It imports nothing from other folders.

import type { StandardSchemaV1 } from '@standard-schema/spec'
import * as z from 'zod/mini'

/** The schema of a model, as a Standard Schema. */
export type Schema<Model> = StandardSchemaV1<Model, Model>

/** An optional, nullable field. The documents don't say which fields can be null or absent, so all but `id` can. */
export function nullish<Inner extends z.core.SomeType>(inner: Inner): z.ZodMiniExactOptional<z.ZodMiniNullable<Inner>> {
  return z.exactOptional(z.nullable(inner))
}

/** A free-form object. */
export type FreeForm = Record<string, unknown>

/** Accepts any object. */
export const freeForm = z.looseObject({})

/**
 * Makes a schema for an interface. Does not compile when a field is missing on either side, or has a different type.
 */
export function schemaFor<Model>(): <Shape extends z.ZodMiniType>(
  shape: Same<Known<z.output<Shape>>, Known<Model>> extends true ? Shape : never,
) => Schema<Model> {
  return (shape) => shape as unknown as Schema<Model>
}

/** The type without index signatures, and with open unions widened to strings. */
type Known<Type> = Type extends string
  ? string extends Type
    ? string
    : Type
  : Type extends readonly (infer Item)[]
    ? Known<Item>[]
    : Type extends object
      ? { [Key in keyof Type as string extends Key ? never : Key]: Known<Type[Key]> }
      : Type

type Same<A, B> = (<Probe>() => Probe extends A ? 1 : 2) extends <Probe>() => Probe extends B ? 1 : 2 ? true : false
