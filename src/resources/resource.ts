import type { Actor } from '../actor.ts'
import { callOperation, type OptionsOf, type ResultOf, type Sender } from '../call-operation.ts'
import type { InputOf, Operation } from '../operation.ts'

declare const actorMode: unique symbol

/**
 * The `this` of a call that only an `actor=self` token may make. On an app client it is a sentence that no client fits,
 * because the compiler prints it; with the actor unknown the call compiles and the service decides.
 */
export type SelfOnly<A extends Actor, Owner> = [A] extends ['app'] ? 'This call needs an actor=self token' : Owner

/** Operations by the name of their method. */
export type Operations = Readonly<Record<string, Operation>>

/** The calls of one resource. */
export abstract class Resource<out A extends Actor> {
  // For the compiler only: neither the resources of an app client nor those of an unknown actor are assignable to those
  // of an actor=self client.
  declare protected readonly [actorMode]?: A | undefined
  readonly #transport: Sender

  constructor(transport: Sender) {
    this.#transport = transport
  }

  protected call<const Definition extends Operation>(
    operation: Definition,
    input: InputOf<Definition>,
    options: OptionsOf<Definition> | undefined,
  ): ResultOf<Definition> {
    return callOperation(this.#transport, operation, input, options)
  }
}
