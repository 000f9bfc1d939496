import { InvalidArgumentError } from '../errors/index.ts'
import { type Call, callOf, namingCall, type Reply } from './call.ts'
import { isPromise } from './call-clock.ts'
import { notLoadedError, withTotalTimeout } from './call-errors.ts'
import { CallRecord } from './call-record.ts'
import { type CapturedCall, captureCall, type PreparedCall, readCallOptions } from './input.ts'
import { type ListOptions, readListArguments } from './list-options.ts'
import type { Operation, OperationInput, OutputOf } from './operation.ts'
import type { CallOptions } from './options.ts'
import { type ListPlan, Paginated } from './pagination.ts'
import type { Core } from './send.ts'

/** The result of calling an operation: `Paginated` for a list, `Call` for anything else. */
export type ResultOf<Definition extends Operation> = Definition extends { readonly envelope: 'list' }
  ? Paginated<OutputOf<Definition>>
  : Call<OutputOf<Definition>>

/** The options of calling an operation. */
export type OptionsOf<Definition extends Operation> = Definition extends { readonly envelope: 'list' }
  ? ListOptions
  : CallOptions

/** Calls an operation. The result rejects if an argument is invalid. */
export function callOperation<Definition extends Operation>(
  core: Core,
  operation: Definition,
  input: OperationInput,
  options: OptionsOf<Definition> | undefined,
): ResultOf<Definition> {
  const { envelope } = operation
  const result =
    envelope === 'list'
      ? new Paginated(planList(core, operation, input, options))
      : callOf(replyOf(core, operation, input, options))
  return result as ResultOf<Definition>
}

async function replyOf(
  core: Core,
  operation: Operation,
  input: OperationInput,
  options: CallOptions | undefined,
): Promise<Reply> {
  const startedAt = performance.now()
  try {
    const captured = captureCall(operation, input, readCallOptions(options), core.settings)
    return await core.send(await inTime(captured, core, startedAt))
  } catch (thrown) {
    throw namingCall(thrown, operation.id)
  }
}

/**
 * Reads the arguments now. Each call of the returned function returns the plan, or throws the error for invalid
 * arguments.
 */
function planList(
  core: Core,
  operation: Operation,
  input: OperationInput,
  options: ListOptions | undefined,
): () => ListPlan {
  try {
    const { checked, ...list } = readListArguments(operation, input, options, core.settings)
    const plan = {
      ...list,
      prepare: () => inTime({ call: list.call, checked }, core, performance.now()),
      send: core.send,
    }
    return () => plan
  } catch (thrown) {
    const named = namingCall(thrown, operation.id)
    return () => {
      throw named
    }
  }
}

/**
 * Returns a call as its schemas have returned it. The `totalTimeout` begins before asynchronous schemas, so they need a
 * record, whose clock ends with them.
 *
 * @param startedAt when the call was made, or the page of a list was asked for
 */
async function inTime({ call, checked }: CapturedCall, { settings }: Core, startedAt: number): Promise<PreparedCall> {
  if (!isPromise(checked)) return { ...checked, startedAt }
  const record = new CallRecord({ ...call, startedAt }, settings)
  const { clock } = record
  try {
    return { ...(await clock.run(checked)), startedAt }
  } catch (thrown) {
    // If a schema of the caller throws, the call rejects with an `InvalidArgumentError`.
    if (thrown instanceof InvalidArgumentError) throw thrown
    throw clock.end === undefined ? notLoadedError(record, thrown) : withTotalTimeout(record, thrown)
  } finally {
    clock.stop()
  }
}
