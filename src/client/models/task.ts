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
