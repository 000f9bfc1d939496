import type { StandardSchemaV1 } from '@standard-schema/spec'
import * as z from 'zod/mini'

/** A schema for one interface of the service, in the form that every validation library understands. */
export type Schema<Model> = StandardSchemaV1<Model, Model>

/**
 * A response field. The reference's samples say nothing of null or absent, so that every field but an `id` may be either.
 */
export function nullish<Inner extends z.core.SomeType>(inner: Inner): z.ZodMiniExactOptional<z.ZodMiniNullable<Inner>> {
  return z.exactOptional(z.nullable(inner))
}

/** A free-form object. */
export type FreeForm = Record<string, unknown>

/** The schema of a free-form object: any object passes. */
export const freeForm = z.looseObject({})

/**
 * Holds a schema and the interface that documents it equal: it does not compile when a field of one is missing in the
 * other, or is of another kind.
 */
export function schemaFor<Model>(): <Shape extends z.ZodMiniType>(
  shape: Same<Known<z.output<Shape>>, Known<Model>> extends true ? Shape : never,
) => Schema<Model> {
  return (shape) => shape as unknown as Schema<Model>
}

/** Without the index signatures that let unknown fields pass, and with open unions as the strings that they are. */
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
