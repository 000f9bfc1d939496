import * as z from 'zod/mini'
import { freeForm, type Schema, schemaFor } from './schema.ts'

/** A segment. No page of the reference shows its fields: those that the service sends come through as they are. */
export interface Segment {
  /** The segment's id (inferred). */
  id: string
  /** Any further field. Their names and kinds are not documented. */
  [field: string]: unknown
}

/** The body of `segments.create`. Its fields are not documented: any object is accepted. */
export type CreateSegmentBody = object

/** The body of `segments.update`. Its fields are not documented: any object is accepted. */
export type UpdateSegmentBody = object

export const segmentSchema = schemaFor<Segment>()(z.looseObject({ id: z.string() }))
export const createSegmentBodySchema: Schema<CreateSegmentBody> = freeForm
export const updateSegmentBodySchema: Schema<UpdateSegmentBody> = freeForm
