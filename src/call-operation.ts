import { Call } from './call.ts'
import { InvalidArgumentError } from './errors/index.ts'
import type { ParsedResponse } from './http/attempt.ts'
import { type CapturedInput, captureInput } from './http/input.ts'
import type { CallOptions } from './http/options.ts'
import type { ListOptions } from './list-options.ts'
import { copyListOptions, listOptionNames } from './list-options.ts'
import { checkOperation, type InputOf, type Operation, type OperationInput, type OutputOf } from './operation.ts'
import { Paginated } from './pagination.ts'

/** The result of calling an operation: `Paginated` for a list, `Call` for anything else. */
export type ResultOf<Definition extends Operation> = Definition extends { readonly envelope: 'list' }
  ? Paginated<OutputOf<Definition>>
  : Call<OutputOf<Definition>>

/** The options of calling an operation. */
export type OptionsOf<Definition extends Operation> = Definition extends { readonly envelope: 'list' }
  ? ListOptions
  : CallOptions

/** The part of the transport that resources use. Keeps its internals out of the public types. */
export interface Sender {
  /** @param page the page number, for hooks */
  send(operation: Operation, input: CapturedInput, options?: CallOptions, page?: number): Promise<ParsedResponse>
}

/** Calls an operation. Every resource method ends here. Never throws synchronously. */
export function callOperation<Definition extends Operation>(
  transport: Sender,
  operation: Definition,
  input: InputOf<Definition>,
  options: OptionsOf<Definition> | undefined,
): ResultOf<Definition> {
  // JavaScript may pass anything, `undefined` included.
  const taken = { ...operation }
  const result =
    taken.envelope === 'list'
      ? callList(transport, taken, input, options)
      : Call.started(async () => {
          checkOperation(taken)
          return transport.send(taken, captureInput(taken, input, options), options)
        })
  return result as ResultOf<Definition>
}

function callList(
  transport: Sender,
  operation: Operation,
  input: OperationInput,
  options: ListOptions | undefined,
): Paginated<unknown> {
  return new Paginated(() => {
    checkOperation(operation)
    const captured = captureInput(operation, input, options)
    checkListQuery(operation, captured)
    return {
      operation,
      query: captured.query,
      options: copyListOptions(options),
      fetchPage: async (query, options, page) => {
        const { direction, maxItems, prefetch, resumeFrom, onRejectedCursor, ...pageOptions } = options
        const { data, ...rest } = await transport.send(operation, { ...captured, query }, pageOptions, page)
        return { data: data as unknown[], ...rest }
      },
    }
  })
}

/** Rejects list options in the query, where they would have no effect, and cursors in `extraQuery`. */
function checkListQuery(operation: Operation, { query, extraQuery }: CapturedInput): void {
  // With a query schema, the schema decides which parameters exist.
  const misplaced = operation.query === undefined && listOptionNames.find((name) => query[name] !== undefined)
  if (misplaced) {
    throw new InvalidArgumentError(
      misplaced,
      `\`${misplaced}\` is an option of the list, not a query parameter.`,
      'Pass it in the options, after the query. A query parameter of this name goes into `extraQuery`.',
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
