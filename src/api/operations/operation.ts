import type { Evidence } from '../../core/index.ts'
import type { KnownScope } from '../../shared/scopes.ts'
import { type Fact, guide, reference, type Source, type Statement, specification } from '../fact.ts'
import type { ModelName } from '../models.ts'

/** The facts about an operation. `evidence` and `sources` are about its method and path. */
export interface ApiOperation extends Fact {
  /** The id of the operation in this package, which is also the name of its method: `contacts.create`. */
  readonly id: string
  /** The vendor's name, for example `createContact`. If the documents print none, a name in the same style. */
  readonly operationId: string
  /** The title of the page in the reference. Without a page, a title in the same style. */
  readonly title: string
  /** The HTTP method. */
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path below the base URL, with parameters in braces. */
  readonly path: `/${string}`
  /** The required scope. Absent if the operation needs none. */
  readonly scope?: KnownScope
  /** `self` if a source says that the operation needs an `actor=self` token. */
  readonly actor: 'self' | 'any'
  /**
   * Whether two requests have the same effect as one: `safe` for GET and DELETE, `unsafe` for POST, `unknown` for
   * PATCH.
   */
  readonly repeat: 'safe' | 'unsafe' | 'unknown'
  /**
   * How a successful response is wrapped. `item` has `data`, `list` has `data` with `page_metadata`, `bare` has no
   * wrapper, and `none` is empty.
   */
  readonly envelope: 'item' | 'list' | 'bare' | 'none'
  /** The query parameters of a list, each with its evidence for this list. */
  readonly query: Readonly<Record<string, Statement>>
  /** The model of the request body. */
  readonly body?: ModelName
  /** The model of the response, or of an item of a list. */
  readonly response?: ModelName
  /** Other facts about the operation. */
  readonly notes: readonly Statement[]
}

const prefix = '/api/oauth/v1'
const repeats = { GET: 'safe', DELETE: 'safe', POST: 'unsafe', PATCH: 'unknown' } as const

interface Definition extends Partial<Pick<ApiOperation, 'actor' | 'envelope' | 'body' | 'response' | 'notes'>> {
  readonly operationId: string
  /** Method and path below the prefix. */
  readonly request: `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`
}

/** An operation before its id and scope are known. */
export type Entry = Omit<ApiOperation, 'id' | 'scope'>

/** Returns an operation that has a page in the reference. `title` is the title of the page. */
export function printed(title: string, definition: Definition): Entry {
  return operation('reference', [reference(title)], { title, ...definition })
}

/** @param sources of its method and path */
export function operation(
  evidence: Evidence,
  sources: readonly Source[],
  { request, ...definition }: Definition & { readonly title: string },
): Entry {
  const [method, path] = request.split(' ') as [ApiOperation['method'], string]
  const { actor = 'any', envelope = definition.response === undefined ? 'none' : 'item', notes = [] } = definition
  return {
    ...definition,
    evidence,
    sources,
    method,
    path: `${prefix}${path}`,
    actor,
    envelope,
    notes,
    repeat: repeats[method],
    query: envelope === 'list' ? listQuery(evidence) : {},
  }
}

/** The specification prints these parameters for conversations, and the pagination guide for lists in general. */
function listQuery(evidence: Evidence): Record<string, Statement> {
  const known: Fact =
    evidence === 'specification'
      ? { evidence, sources: [specification('section 4')] }
      : { evidence: 'inferred', sources: [specification('section 1'), guide('Pagination')] }
  return {
    limit: { text: 'Number of items per page, at least 1. Default and maximum are not documented.', ...known },
    after: { text: 'Cursor: the page after this point.', ...known },
    before: { text: 'Cursor: the page before this point.', ...known },
  }
}
