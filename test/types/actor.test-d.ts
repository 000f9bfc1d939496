import { type Actor, type ConnectedWorkspace, type Me, SupportWorkspace } from 'support-workspace-sdk'
import type { Equal, Expect } from './assert.ts'

declare const app: SupportWorkspace<'app'>
declare const self: SupportWorkspace<'self'>
declare const unknown: SupportWorkspace
declare const either: 'app' | 'self'
declare const maybeSelf: 'self' | undefined

const options = { baseUrl: 'https://api.supportwire.app', accessToken: 'token' }
const message = { body_html: '<p>On it.</p>' }

// The constructor infers the actor from its option.
const made = {
  app: new SupportWorkspace({ ...options, actor: 'app' }),
  self: new SupportWorkspace({ ...options, actor: 'self' }),
  unknown: new SupportWorkspace(options),
  either: new SupportWorkspace({ ...options, actor: either }),
}
export type ConstructorTests = [
  Expect<Equal<typeof made.app, SupportWorkspace<'app'>>>,
  Expect<Equal<typeof made.self, SupportWorkspace<'self'>>>,
  Expect<Equal<typeof made.unknown, SupportWorkspace>>,
  Expect<Equal<typeof made.either, SupportWorkspace>>,
  Expect<Equal<typeof made.app.actor, 'app' | undefined>>,
  Expect<Equal<typeof made.unknown.actor, 'app' | 'self' | undefined>>,
]

// @ts-expect-error: there is no other actor
new SupportWorkspace({ ...options, actor: 'admin' })

/** `connect` returns a union discriminated by `actor`. */
export async function connecting(): Promise<void> {
  const workspace = await SupportWorkspace.connect(options)
  // @ts-expect-error: it may be an app client
  workspace.messages.create('c', message)
  if (workspace.actor === 'self') {
    await workspace.messages.create('c', message)
  } else {
    // @ts-expect-error: it is an app client
    workspace.messages.create('c', message)
    const known: 'app' = workspace.actor
    void known
  }
  // `connect` has called `/me`.
  const identity: Me = workspace.identity
  countConversations(workspace)
  // @ts-expect-error: it may be an app client
  greet(workspace)
  if (workspace.actor === 'self') await greet(workspace)
  void identity
  // @ts-expect-error: `connect` determines the actor itself
  await SupportWorkspace.connect({ ...options, actor: 'self' })
}

/** A plain `SupportWorkspace` accepts every client. */
export async function countConversations(workspace: SupportWorkspace): Promise<number> {
  const { data } = await workspace.conversations.list()
  for await (const member of workspace.members.list()) void member.role
  const found: unknown = await workspace.request('GET', '/api/oauth/v1/tags')
  // Calls that the documents do not restrict are allowed.
  await workspace.contacts.update('k', { blocked: true })
  if (workspace.actor === 'self') await workspace.messages.create('c', message)
  return found === undefined ? 0 : data.length
}
countConversations(app)
countConversations(self)
countConversations(unknown)
countConversations(made.either)

/** `SupportWorkspace<'self'>` accepts no app client. */
export async function greet(workspace: SupportWorkspace<'self'>): Promise<void> {
  await workspace.messages.create('c', message)
}
greet(self)
// @ts-expect-error: an app client may not author content
greet(app)
// @ts-expect-error: it is not known to be an actor=self client
greet(unknown)

/** Nor does a single resource of it. */
export async function reply(messages: SupportWorkspace<'self'>['messages']): Promise<void> {
  await messages.create('c', message)
}
reply(self.messages)
// @ts-expect-error: these may be the messages of an app client
reply(unknown.messages)
// @ts-expect-error: these are the messages of an app client
reply(app.messages)

/** A plain resource accepts the resource of every client. */
export async function countMessages(messages: SupportWorkspace['messages']): Promise<number> {
  return (await messages.list('c')).data.length
}
countMessages(app.messages)
countMessages(self.messages)

// A client that is created in place needs the `actor` option, because it is not inferred from the parameter.
greet(new SupportWorkspace({ ...options, actor: 'self' }))
// @ts-expect-error: `actor` is missing
greet(new SupportWorkspace(options))
// @ts-expect-error: it is an app client
greet(new SupportWorkspace({ ...options, actor: 'app' }))
// @ts-expect-error: it may be an app client
greet(new SupportWorkspace({ ...options, actor: either }))
// @ts-expect-error: the actor may be unknown
greet(new SupportWorkspace({ ...options, actor: maybeSelf }))
// @ts-expect-error: `actor` is missing
new SupportWorkspace<'self'>(options)
countConversations(new SupportWorkspace(options))
countConversations(new SupportWorkspace({ ...options, actor: maybeSelf }))

/** Generic functions can pass the actor on. */
export function makeClient<A extends Actor>(actor: A): SupportWorkspace<A> {
  return new SupportWorkspace({ ...options, actor })
}

/** A subclass can have a fixed actor. */
export class SelfWorkspace extends SupportWorkspace<'self'> {
  constructor() {
    super({ ...options, actor: 'self' })
  }
}

// A variable can hold every client.
export const kept: SupportWorkspace[] = [app, self, unknown]
export type IdentityTests = [
  Expect<Equal<SupportWorkspace['identity'], Me | undefined>>,
  Expect<Equal<ConnectedWorkspace<'app'>['identity'], Me>>,
]
