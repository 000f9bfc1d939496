// This folder has one file per resource: its operations as data, then a thin class with a method for each. It does not
// import the client.

import {
  type Core,
  callOperation,
  type InputOf,
  type Operation,
  type OptionsOf,
  type ResultOf,
} from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'

declare const actorMode: unique symbol

/**
 * The `this` type of a call that requires an `actor=self` token. On an app client it is a message for the compiler to
 * print. On a client with an unknown actor the call compiles, and the service decides.
 */
export type SelfOnly<A extends Actor, Owner> = [A] extends ['app'] ? 'This call needs an actor=self token' : Owner

/** Operations by the name of their method. */
export type Operations = Readonly<Record<string, Operation>>

/** The calls of one resource. */
export abstract class Resource<out A extends Actor> {
  // For the compiler only. Resources of an app client or an unknown actor cannot be assigned to resources of
  // actor=self.
  declare protected readonly [actorMode]?: A | undefined
  readonly #core: Core

  /** @internal */
  constructor(core: Core) {
    this.#core = core
  }

  /** @internal */
  protected call<const Definition extends Operation>(
    operation: Definition,
    input: InputOf<Definition>,
    options: OptionsOf<Definition> | undefined,
  ): ResultOf<Definition> {
    return callOperation(this.#core, operation, input, options)
  }
}
