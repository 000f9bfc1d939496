import * as z from 'zod/mini'
import { documents } from './schema.ts'

/** A task. No page of the reference shows its fields: those that the service sends come through as they are. */
export interface Task {
  /** The task's id (inferred). */
  id: string
  /** Any further field. Their names and kinds are not documented. */
  [field: string]: unknown
}

/** The body of `tasks.create`. Its fields are not documented. */
export interface CreateTaskBody {
  /** Any field. Their names and kinds are not documented. */
  [field: string]: unknown
}

/** The body of `tasks.update`. Its fields are not documented. */
export interface UpdateTaskBody {
  /** Any field. Their names and kinds are not documented. */
  [field: string]: unknown
}

export const taskSchema = documents<Task>()(z.looseObject({ id: z.string() }))
export const createTaskBodySchema = documents<CreateTaskBody>()(z.looseObject({}))
export const updateTaskBodySchema = documents<UpdateTaskBody>()(z.looseObject({}))
