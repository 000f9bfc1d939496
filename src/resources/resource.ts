import type { Actor } from '../actor.ts'
import { callOperation, type OptionsOf, type ResultOf } from '../call-operation.ts'
import type { Transport } from '../http/transport.ts'
import type { InputOf, Operation } from '../operation.ts'

declare const actorMode: unique symbol

/**
 * What may act in an actor mode. It exists for the compiler only: what is known to act as `app` is not assignable to
 * what must act as `self`; what is not known fits either.
 */
export interface ActsAs<A extends Actor> {
  readonly [actorMode]?: (actor: A) => void
}

/** Operations by the name of their method. */
export type Operations = Readonly<Record<string, Operation>>

/** The calls of one resource. */
export abstract class Resource<A extends Actor> implements ActsAs<A> {
  declare readonly [actorMode]?: (actor: A) => void
  readonly #transport: Transport

  constructor(transport: Transport) {
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
