import {
  type Call,
  type CallArguments,
  type Conversation,
  defineOperation,
  type Operation,
  type Paginated,
  type ResultOf,
  type SupportWorkspace,
  schemas,
} from 'support-workspace-sdk'
import * as v from 'valibot'
import * as z from 'zod'
import type { Equal, Expect } from './assert.ts'

declare const app: SupportWorkspace<'app'>
declare const self: SupportWorkspace<'self'>
declare const unknown: SupportWorkspace
declare const either: SupportWorkspace<'app'> | SupportWorkspace<'self'>

// Path parameters are inferred from the path.
const getReaction = defineOperation({
  id: 'reactions.get',
  method: 'GET',
  path: '/api/{conversation_id}/reactions/{id}',
})
self.call(getReaction, { path: { conversation_id: 'c', id: 'r' } })
self.call(getReaction, { path: { conversation_id: 'c', id: 'r' } }, { timeout: 5 })
// @ts-expect-error: a parameter is missing
self.call(getReaction, { path: { conversation_id: 'c' } })
// @ts-expect-error: the path has no such parameter
self.call(getReaction, { path: { conversation_id: 'c', id: 'r', other: 'x' } })
// @ts-expect-error: parameters are strings
self.call(getReaction, { path: { conversation_id: 'c', id: 1 } })
// @ts-expect-error: the path has parameters
self.call(getReaction)

// Without parameters and schemas, the input is optional.
const listTags = defineOperation({ id: 'tags.list', method: 'GET', path: '/api/tags', envelope: 'list' })
const tags = self.call(listTags)
self.call(listTags, { query: { limit: 5, archived: false, kind: ['a', 'b'], after: null } }, { maxItems: 10 })
// @ts-expect-error: an object cannot be a query parameter
self.call(listTags, { query: { filter: { kind: 'a' } } })
// @ts-expect-error: the path has no parameters
self.call(listTags, { path: { id: 'x' } })
// @ts-expect-error: no such option
self.call(listTags, {}, { maxitems: 10 })

// Body, query and response types come from schemas: zod.
const createTag = defineOperation({
  id: 'tags.create',
  method: 'POST',
  path: '/api/tags',
  body: z.object({ name: z.string(), color: z.string().default('red') }),
  response: z.object({ id: z.string(), made_at: z.number().transform((seconds) => new Date(seconds * 1000)) }),
})
const tag = self.call(createTag, { body: { name: 'urgent' } })
// @ts-expect-error: the body has no `label`
self.call(createTag, { body: { label: 'urgent' } })
// @ts-expect-error: there is a body
self.call(createTag)

// And valibot.
const searchTags = defineOperation({
  id: 'tags.search',
  method: 'GET',
  path: '/api/tags/search',
  envelope: 'list',
  query: v.object({ text: v.string(), limit: v.optional(v.number()) }),
  response: v.object({ id: v.pipe(v.string(), v.transform(Number)) }),
})
const found = self.call(searchTags, { query: { text: 'urg' } })
// @ts-expect-error: the query needs `text`
self.call(searchTags, { query: { limit: 1 } })
// @ts-expect-error: the query needs `text`
self.call(searchTags)

const recentTags = defineOperation({
  id: 'tags.recent',
  method: 'GET',
  path: '/api/oauth/v1/tags',
  envelope: 'list',
  query: v.object({ limit: v.optional(v.number()) }),
})
self.call(recentTags)

// And the schemas of this package.
const starred = self.call(
  defineOperation({
    id: 'conversations.starred',
    method: 'GET',
    path: '/api/starred',
    envelope: 'list',
    response: schemas.conversation,
  }),
)

const deleteTag = defineOperation({ id: 'tags.delete', method: 'DELETE', path: '/api/tags/{id}', envelope: 'none' })
const gone = self.call(deleteTag, { path: { id: 't' } })
const once = self.request('POST', '/api/tags', { body: { name: 'urgent' } })

export type ResultTests = [
  Expect<Equal<typeof tags, Paginated<unknown>>>,
  Expect<Equal<typeof tag, Call<{ id: string; made_at: Date }>>>,
  Expect<Equal<typeof found, Paginated<{ id: number }>>>,
  Expect<Equal<typeof starred, Paginated<Conversation>>>,
  Expect<Equal<typeof gone, Call<undefined>>>,
  Expect<Equal<typeof once, Call<unknown>>>,
]

// The actor works as in the built-in operations.
const shout = defineOperation({ id: 'shout', method: 'POST', path: '/api/shout', actor: 'self', body: z.object({}) })
self.call(shout, { body: {} })
unknown.call(shout, { body: {} })
// @ts-expect-error: this call needs an actor=self token
app.call(shout, { body: {} })
// @ts-expect-error: it may be an app client
either.call(shout, { body: {} })
app.call(createTag, { body: { name: 'urgent' } })
either.call(createTag, { body: { name: 'urgent' } })
either.call(listTags)

// A value of type `Operation` compiles, and is checked when it is called.
declare const some: Operation
app.call(some, { path: {}, body: {} })

// An operation can be written in place.
const inPlace = unknown.call(
  {
    id: 'tags.rename',
    method: 'PATCH',
    path: '/api/tags/{id}',
    body: z.object({ name: z.string() }),
    response: z.object({ id: z.string() }),
  },
  { path: { id: 't' }, body: { name: 'urgent' } },
)
const listInPlace = self.call({ id: 'tags.list', method: 'GET', path: '/api/tags', envelope: 'list' })
// @ts-expect-error: the property is `response`
unknown.call({ id: 'x', method: 'GET', path: '/x', respones: z.object({}) })
// @ts-expect-error: the path has a parameter
unknown.call({ id: 'x', method: 'GET', path: '/x/{id}' })
// @ts-expect-error: there is no path
unknown.call({ id: 'x', method: 'GET' })
// @ts-expect-error: this call needs an actor=self token
app.call({ id: 'x', method: 'GET', path: '/x', actor: 'self' })
export type InPlaceTests = [
  Expect<Equal<typeof inPlace, Call<{ id: string }>>>,
  Expect<Equal<typeof listInPlace, Paginated<unknown>>>,
]

/** A generic function passes the type of its operation. */
export function callLogged<Definition extends Operation>(
  operation: Definition,
  ...args: CallArguments<Definition>
): ResultOf<Definition> {
  return unknown.call<Definition>(operation, ...args)
}

// @ts-expect-error: no such method
defineOperation({ id: 'x', method: 'FETCH', path: '/x' })
// @ts-expect-error: a path begins with a slash
defineOperation({ id: 'x', method: 'GET', path: 'x' })
// @ts-expect-error: evidence is for the operations of this package
defineOperation({ id: 'x', method: 'GET', path: '/x', evidence: 'reference' })
// @ts-expect-error: the property is `response`
defineOperation({ id: 'x', method: 'GET', path: '/x', respones: z.object({}) })
