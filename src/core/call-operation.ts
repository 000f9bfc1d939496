import { InvalidArgumentError } from '../errors/index.ts'
import { type Call, callOf, namingCall, type Reply } from './call.ts'
import { isPromise } from './call-clock.ts'
import { notLoadedError, timeoutError } from './call-errors.ts'
import { CallRecord } from './call-record.ts'
import { type CapturedCall, captureCall, type PreparedCall, prepareCall, readCallOptions } from './input.ts'
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

/** Calls an operation. Never throws synchronously. */
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
      : callOf(sendOne(core, operation, input, options))
  return result as ResultOf<Definition>
}

async function sendOne(
  core: Core,
  operation: Operation,
  input: OperationInput,
  options: CallOptions | undefined,
): Promise<Reply> {
  const startedAt = performance.now()
  try {
    const call = captureCall(operation, input, readCallOptions(options), core.settings)
    return await core.send({ ...(await prepare(call, core)), startedAt })
  } catch (thrown) {
    throw namingCall(thrown, operation.id)
  }
}

/** Returns a copy of a definition of the caller, who might have passed anything, and can change it later. */
export function copyDefinition<Definition extends Operation>(definition: Definition): Definition {
  try {
    const { evidence, ...copy } = definition
    return copy as Definition
  } catch {
    // An unreadable definition becomes one without an id, which a later check rejects.
    return {} as Definition
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
    const list = readListArguments(operation, input, options, core.settings)
    let prepared: Promise<PreparedCall> | undefined
    const prepareOnce = () => {
      prepared ??= prepare(list.call, core)
      prepared.catch(() => {
        prepared = undefined
      })
      return prepared
    }
    const plan = { ...list, prepare: prepareOnce, send: core.send }
    return () => plan
  } catch (thrown) {
    const named = namingCall(thrown, operation.id)
    return () => {
      throw named
    }
  }
}

/** Checks the input with the schemas of the operation, within the `totalTimeout` of the call. */
async function prepare(call: CapturedCall, { settings }: Core): Promise<PreparedCall> {
  const prepared = prepareCall(call)
  if (!isPromise(prepared)) return prepared
  const record = new CallRecord({ ...call, body: undefined }, settings)
  const { clock } = record
  try {
    return await clock.run(prepared)
  } catch (thrown) {
    // If a schema of the caller throws, the call rejects with an `InvalidArgumentError`.
    if (thrown instanceof InvalidArgumentError) throw thrown
    if (clock.end === undefined) throw notLoadedError(record, thrown)
    throw clock.end.isLate ? timeoutError(record, { limit: 'total', isSent: false }) : thrown
  } finally {
    clock.stop()
  }
}
