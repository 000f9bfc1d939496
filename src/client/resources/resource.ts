// This folder has one file per resource: its operations as data, then a thin class with a method for each. It does not
// import the client.

import {
  Call,
  type CallOptions,
  type CallSettings,
  type CapturedCall,
  captureCall,
  type InputOf,
  type ListOptions,
  type ListPlan,
  type ListQuery,
  type Locate,
  listChecks,
  type Operation,
  type OperationInput,
  type OutputOf,
  Paginated,
  type Reply,
  rememberCaller,
  takeListOptions,
} from '../../core/index.ts'
import type { Actor } from '../../shared/actor.ts'
import { findSimilar } from '../../shared/check-options.ts'
import { InvalidArgumentError } from '../../shared/errors/index.ts'

/** The result of calling an operation: `Paginated` for a list, `Call` for anything else. */
export type ResultOf<Definition extends Operation> = Definition extends { readonly envelope: 'list' }
  ? Paginated<OutputOf<Definition>>
  : Call<OutputOf<Definition>>

/** The options of calling an operation. */
export type OptionsOf<Definition extends Operation> = Definition extends { readonly envelope: 'list' }
  ? ListOptions
  : CallOptions

declare const actorMode: unique symbol

/**
 * The `this` type of a call that requires an `actor=self` token. On an app client it is a message for the compiler to
 * print. On a client with an unknown actor the call compiles, and the service decides.
 */
export type SelfOnly<A extends Actor, Owner> = [A] extends ['app'] ? 'This call needs an actor=self token' : Owner

/** Operations by the name of their method. */
export type Operations = Readonly<Record<string, Operation>>

/** The part of the transport that resources use. Keeps its internals out of the public types. */
export interface Sender {
  readonly settings: CallSettings
  /** @param page the page number, for hooks */
  send(call: CapturedCall, page?: number): Promise<Reply>
}

/** The calls of one resource. */
export abstract class Resource<out A extends Actor> {
  // Type only: makes the resources of an app client, or of an unknown actor, unassignable to those of actor=self.
  declare protected readonly [actorMode]?: A | undefined
  readonly #transport: Sender

  /** @internal */
  constructor(transport: Sender) {
    this.#transport = transport
  }

  /** @internal */
  protected call<const Definition extends Operation>(
    operation: Definition,
    input: InputOf<Definition>,
    options: OptionsOf<Definition> | undefined,
  ): ResultOf<Definition> {
    return callOperation(this.#transport, operation, input, options, { locate: rememberCaller(this.call, 1) })
  }
}

/**
 * Calls an operation. Never throws synchronously.
 *
 * @param source `locate` knows the caller; `check` checks an operation that the caller defined, and is absent for those of
 *   this package
 */
export function callOperation<Definition extends Operation>(
  transport: Sender,
  operation: Definition,
  input: OperationInput,
  options: OptionsOf<Definition> | undefined,
  { locate, check }: { readonly locate: Locate; readonly check?: (operation: Operation) => void },
): ResultOf<Definition> {
  const isOwn = check !== undefined
  // JavaScript may pass anything, `undefined` included, and change it later.
  const taken: Operation = isOwn ? copyOf(operation) : operation
  const capture = (callOptions: CallOptions | undefined): CapturedCall => {
    check?.(taken)
    return captureCall(taken, input, callOptions, { isOwn, defaults: transport.settings })
  }
  const fail: Locate = (thrown) => locate(thrown, taken.id)
  const result =
    taken.envelope === 'list'
      ? new Paginated(taken.id, () => planList(transport, capture, options, fail), fail)
      : Call.started(taken.id, async () => {
          try {
            return await transport.send(capture(options))
          } catch (thrown) {
            throw fail(thrown)
          }
        })
  return result as ResultOf<Definition>
}

/** Returns an operation without an id if it cannot be read, which the check rejects. */
function copyOf(operation: Operation): Operation {
  try {
    return { ...operation }
  } catch {
    return {} as Operation
  }
}

function planList(
  transport: Sender,
  capture: (options: CallOptions) => CapturedCall,
  options: ListOptions | undefined,
  locate: Locate,
): ListPlan<unknown> {
  const taken = takeListOptions(options)
  const call = capture(taken.callOptions)
  checkListQuery(call)
  return {
    operation: call.operation,
    query: call.query,
    options: taken,
    signal: call.signal,
    fetchPage: async (query, signal, page) => {
      const { data, ...rest } = await transport.send({ ...call, query, signal }, page).catch((thrown) => {
        throw locate(thrown)
      })
      return { data: data as unknown[], ...rest }
    },
  }
}

const listQueryNames = { limit: true, after: true, before: true } satisfies Record<keyof ListQuery, true>
/** Rejects list options in the query, where they would have no effect, and cursors in `extraQuery`. */
function checkListQuery({ operation, isOwn, query, extraQuery }: CapturedCall): void {
  // With a query schema, the schema decides which parameters exist.
  const misplaced = operation.query === undefined && Object.keys(listChecks).find((name) => query[name] !== undefined)
  if (misplaced) {
    throw new InvalidArgumentError(
      misplaced,
      `\`${misplaced}\` is an option of the list, not a query parameter.`,
      'Pass it in the options, after the query. A query parameter of this name goes into `extraQuery`.',
    )
  }
  // Callers also misspell options in the query.
  for (const name of isOwn ? [] : Object.keys(query)) {
    const meant = Object.hasOwn(listQueryNames, name)
      ? undefined
      : findSimilar(name, { ...listChecks, ...listQueryNames })
    if (meant === undefined) continue
    throw new InvalidArgumentError(
      name,
      `\`${name}\` is not a query parameter.`,
      `Did you mean \`${meant}\`? If the service has it, pass it in \`extraQuery\`.`,
    )
  }
  const cursor = ['after', 'before'].find((name) => Object.hasOwn(extraQuery, name))
  if (cursor === undefined) return
  throw new InvalidArgumentError(
    `extraQuery.${cursor}`,
    `\`${cursor}\` cannot be in \`extraQuery\`.`,
    'Pass the cursor in the query of the list.',
  )
}
