// This folder has one file per resource: a thin class with a method for each operation. The operations are in
// `src/client/generated/`. This folder does not import the client.

import {
  type Core,
  callOperation,
  type InputOf,
  type Operation,
  type OptionsOf,
  type ResultOf,
} from '../../core/index.ts'
import { InvalidArgumentError } from '../../errors/index.ts'
import type { Actor } from '../../shared/actor.ts'

declare const actorMode: unique symbol

/**
 * The `this` type of a call that requires an `actor=self` token. On an app client it is a message for the compiler to
 * print. On a client with an unknown actor the call compiles, and the service decides.
 */
export type SelfOnly<A extends Actor, Owner> = [A] extends ['app'] ? 'This call needs an actor=self token' : Owner

/** Operations by the name of their method. */
export type Operations = Readonly<Record<string, Operation>>

/** `callOperation` for the client of a resource. */
type BoundCall = <Definition extends Operation>(
  operation: Definition,
  input: InputOf<Definition>,
  options: OptionsOf<Definition> | undefined,
) => ResultOf<Definition>

const boundCall = Symbol('boundCall')

/** The calls of one resource. */
export abstract class Resource<out A extends Actor> {
  // Only a type, which makes the resources of other clients unassignable to the resources of an actor=self client.
  declare protected readonly [actorMode]?: A | undefined

  /** @internal */
  constructor(core: Core) {
    // A private field could not be read through a proxy, which a reactive framework such as Vue puts around objects. The
    // property holds a function, so that nothing prints the settings of the client.
    const value = callOperation.bind(undefined, core)
    Object.defineProperty(this, boundCall, { value })
  }
}

/**
 * Calls an operation of a resource.
 *
 * @internal
 * @throws InvalidArgumentError if the method was taken from its object, so that it has no resource
 */
export function call<const Definition extends Operation>(
  resource: Resource<Actor> | undefined,
  operation: Definition,
  input: InputOf<Definition>,
  options: OptionsOf<Definition> | undefined,
): ResultOf<Definition> {
  const bound = (resource as { readonly [boundCall]?: BoundCall } | undefined)?.[boundCall]
  if (bound === undefined) throw detached(operation.id)
  return bound(operation, input, options)
}

/**
 * @internal
 * @param method for example `conversations.list`
 */
export function detached(method: string, owner = 'workspace'): InvalidArgumentError {
  const name = method.split('.').at(-1)
  return new InvalidArgumentError(
    'this',
    `\`${name}\` was called without the object that it belongs to, as after \`const { ${name} } = …\`.`,
    `Call it on its object: \`${owner}.${method}(…)\`.`,
  )
}
