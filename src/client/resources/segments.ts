import type { Call, CallOptions, ListOptions, ListQuery, Paginated } from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import type { CreateSegmentBody, Segment, UpdateSegmentBody } from '../generated/models.ts'
import { segmentOperations } from '../generated/operations.ts'
import { Resource } from './resource.ts'

/** The segments of the organization. The documents name them, but not their paths and fields. */
export class Segments<out A extends Actor = Actor> extends Resource<A> {
  /**
   * Lists the segments. Scope `segments:read`.
   *
   * @experimental Inferred: the path is a guess by analogy (see [what is known](docs/service.md#tasks-and-segments)).
   */
  list(query?: ListQuery, options?: ListOptions): Paginated<Segment> {
    return this.call(segmentOperations.list, { query }, options)
  }

  /**
   * Gets a segment. Scope `segments:read`.
   *
   * @experimental Inferred: the path is a guess by analogy (see [what is known](docs/service.md#tasks-and-segments)).
   */
  get(id: string, options?: CallOptions): Call<Segment> {
    return this.call(segmentOperations.get, { path: { id } }, options)
  }

  /**
   * Creates a segment. Scope `segments:write`.
   *
   * @experimental Inferred: method, path and fields are not documented (see
   * [what is known](docs/service.md#tasks-and-segments)).
   */
  create(body: CreateSegmentBody, options?: CallOptions): Call<Segment> {
    return this.call(segmentOperations.create, { body }, options)
  }

  /**
   * Updates a segment. Scope `segments:write`.
   *
   * @experimental Inferred: method, path and fields are not documented (see
   * [what is known](docs/service.md#tasks-and-segments)).
   */
  update(id: string, body: UpdateSegmentBody, options?: CallOptions): Call<Segment> {
    return this.call(segmentOperations.update, { path: { id }, body }, options)
  }

  /**
   * Deletes a segment. Scope `segments:write`.
   *
   * @experimental Inferred: method and path are not documented (see
   * [what is known](docs/service.md#tasks-and-segments)).
   */
  delete(id: string, options?: CallOptions): Call<undefined> {
    return this.call(segmentOperations.delete, { path: { id } }, options)
  }
}
