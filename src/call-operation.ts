import { Call } from './call.ts'
import type { CallOptions } from './client-options.ts'
import type { Reply, SendOptions } from './http/transport.ts'
import type { InputOf, Operation, OperationInput, OutputOf } from './operation.ts'
import { type ListOptions, type ListQuery, Paginated } from './pagination.ts'

/** What calling an operation gives: pages for a list, one answer for anything else. */
export type ResultOf<Definition extends Operation> = Definition extends { readonly answer: 'list' }
  ? Paginated<OutputOf<Definition>>
  : Call<OutputOf<Definition>>

/** The options of calling an operation. */
export type OptionsOf<Definition extends Operation> = Definition extends { readonly answer: 'list' }
  ? ListOptions
  : CallOptions

/** As much of the transport as a resource sees: its insides do not belong into the public types. */
export interface Sender {
  send(operation: Operation, input: OperationInput, options?: SendOptions): Promise<Reply>
}

/** Calls an operation through a transport: the one way from a resource to the wire. */
export function callOperation<Definition extends Operation>(
  transport: Sender,
  operation: Definition,
  input: InputOf<Definition>,
  options: OptionsOf<Definition> | undefined,
): ResultOf<Definition> {
  const result =
    operation.answer === 'list'
      ? callList(transport, operation, input, options)
      : Call.started(() => transport.send(operation, input, options))
  return result as ResultOf<Definition>
}

function callList(
  transport: Sender,
  operation: Operation,
  input: OperationInput,
  options: ListOptions | undefined,
): Paginated<unknown> {
  const fetchPage = async (query: ListQuery, pageOptions: CallOptions) => {
    const { data, ...rest } = await transport.send(operation, { ...input, query }, pageOptions)
    return { data: data as unknown[], ...rest }
  }
  return new Paginated(operation.id, fetchPage, input.query as ListQuery | undefined, options)
}
