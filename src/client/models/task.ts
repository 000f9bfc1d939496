/** A task. Its fields are not documented: they are returned as the service sends them. */
export interface Task {
  /** The id of the task. The field is inferred. */
  id: string
  [field: string]: unknown
}

/** The body of `tasks.create`. Its fields are not documented: any object is accepted. */
export type CreateTaskBody = object

/** The body of `tasks.update`. Its fields are not documented: any object is accepted. */
export type UpdateTaskBody = object
