import * as z from 'zod/mini'
import { freeForm, type Schema, schemaFor } from './schema.ts'

/** A task. Its fields are not documented: they are returned as the service sends them. */
export interface Task {
  /** Inferred. */
  id: string
  [field: string]: unknown
}

/** The body of `tasks.create`. Its fields are not documented: any object is accepted. */
export type CreateTaskBody = object

/** The body of `tasks.update`. Its fields are not documented: any object is accepted. */
export type UpdateTaskBody = object

export const taskSchema = schemaFor<Task>()(z.looseObject({ id: z.string() }))
export const createTaskBodySchema: Schema<CreateTaskBody> = freeForm
export const updateTaskBodySchema: Schema<UpdateTaskBody> = freeForm
