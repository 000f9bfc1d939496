import type { StandardSchemaV1 } from '@standard-schema/spec'
import type * as z from 'zod/mini'

/** The schema of a model, as a Standard Schema. Returns values unchanged, including unknown fields. */
export type Schema<Model> = StandardSchemaV1<Model, Model>

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
