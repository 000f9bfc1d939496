import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import type { CreateTaskBody, Task, UpdateTaskBody } from '../generated/models.ts'
import { taskOperations } from '../generated/operations.ts'
import { Resource } from './resource.ts'

/** The tasks of the organization. The documents name them, but not their paths and fields. */
export class Tasks<out A extends Actor = Actor> extends Resource<A> {
  /**
   * Lists the tasks. Scope `tasks:read`.
   *
   * @experimental Inferred: the path is a guess by analogy (see [what is known](docs/service.md#tasks-and-segments)).
   */
  list(query?: ListQuery, options?: ListOptions): Paginated<Task> {
    return this.call(taskOperations.list, { query }, options)
  }

  /**
   * Gets a task. Scope `tasks:read`.
   *
   * @experimental Inferred: the path is a guess by analogy (see [what is known](docs/service.md#tasks-and-segments)).
   */
  get(id: string, options?: CallOptions): Call<Task> {
    return this.call(taskOperations.get, { path: { id } }, options)
  }

  /**
   * Creates a task. Scope `tasks:write`.
   *
   * @experimental Inferred: method, path and fields are not documented (see
   * [what is known](docs/service.md#tasks-and-segments)).
   */
  create(body: CreateTaskBody, options?: CallOptions): Call<Task> {
    return this.call(taskOperations.create, { body }, options)
  }

  /**
   * Updates a task. Scope `tasks:write`.
   *
   * @experimental Inferred: method, path and fields are not documented (see
   * [what is known](docs/service.md#tasks-and-segments)).
   */
  update(id: string, body: UpdateTaskBody, options?: CallOptions): Call<Task> {
    return this.call(taskOperations.update, { path: { id }, body }, options)
  }

  /**
   * Deletes a task. Scope `tasks:write`.
   *
   * @experimental Inferred: method and path are not documented (see
   * [what is known](docs/service.md#tasks-and-segments)).
   */
  delete(id: string, options?: CallOptions): Call<undefined> {
    return this.call(taskOperations.delete, { path: { id } }, options)
  }
}
