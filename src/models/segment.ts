import * as z from 'zod/mini'
import { freeForm, type Schema, schemaFor } from './schema.ts'

/** A segment. Its fields are not documented: they are returned as the service sends them. */
export interface Segment {
  /** Inferred. */
  id: string
  [field: string]: unknown
}

/** The body of `segments.create`. Its fields are not documented: any object is accepted. */
export type CreateSegmentBody = object

/** The body of `segments.update`. Its fields are not documented: any object is accepted. */
export type UpdateSegmentBody = object

export const segmentSchema = schemaFor<Segment>()(z.looseObject({ id: z.string() }))
export const createSegmentBodySchema: Schema<CreateSegmentBody> = freeForm
export const updateSegmentBodySchema: Schema<UpdateSegmentBody> = freeForm
