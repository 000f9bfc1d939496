import * as z from 'zod/mini'
import type { CreateTaskBody, Task, UpdateTaskBody } from '../models/task.ts'
import { freeForm, type Schema, schemaFor } from './schema.ts'

export const taskSchema = schemaFor<Task>()(z.object({ id: z.string() }))
export const createTaskBodySchema: Schema<CreateTaskBody> = freeForm
export const updateTaskBodySchema: Schema<UpdateTaskBody> = freeForm
