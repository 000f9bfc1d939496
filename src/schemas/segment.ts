import * as z from 'zod/mini'
import type { CreateSegmentBody, Segment, UpdateSegmentBody } from '../models/segment.ts'
import { freeForm, type Schema, schemaFor } from './schema.ts'

export const segmentSchema = schemaFor<Segment>()(z.object({ id: z.string() }))
export const createSegmentBodySchema: Schema<CreateSegmentBody> = freeForm
export const updateSegmentBodySchema: Schema<UpdateSegmentBody> = freeForm
