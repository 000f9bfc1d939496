import * as z from 'zod/mini'
import { freeForm, type Schema, schemaFor } from './schema.ts'

/** A task. No page of the reference shows its fields: those that the service sends come through as they are. */
export interface Task {
  /** The task's id (inferred). */
  id: string
  /** Any further field. Their names and kinds are not documented. */
  [field: string]: unknown
}

/** The body of `tasks.create`. Its fields are not documented: any object is accepted. */
export type CreateTaskBody = object

/** The body of `tasks.update`. Its fields are not documented: any object is accepted. */
export type UpdateTaskBody = object

export const taskSchema = schemaFor<Task>()(z.looseObject({ id: z.string() }))
export const createTaskBodySchema: Schema<CreateTaskBody> = freeForm
export const updateTaskBodySchema: Schema<UpdateTaskBody> = freeForm
