import type { SupportWorkspace } from '../client/index.ts'
import type { OutgoingCall } from '../core/index.ts'
import { InvalidArgumentError, SupportWorkspaceError } from '../errors/index.ts'
import { isObject } from '../shared/json.ts'
import { type ApprovedContent, digestOf, type ProposalEntry } from './proposal.ts'

/** A function that makes one write with the client that it gets. Its reads are sent. */
export type WriteFunction = (client: SupportWorkspace<'self'>) => PromiseLike<unknown>

/** Runs a function with a client that keeps its write instead of sending it, and returns the write. */
export async function capture(workspace: SupportWorkspace, write: WriteFunction): Promise<OutgoingCall> {
  let captured: OutgoingCall | undefined
  let writes = 0
  const client = workspace.withOptions({
    async middleware(call, next) {
      if (call.operation.method === 'GET') return next(call)
      captured ??= call
      writes += 1
      throw new SupportWorkspaceError(`${call.operation.id} waits until a person approves it.`, {
        hint: '`propose` returns the proposal.',
      })
    },
  })
  let hasHeaders = false
  const look = (argument: unknown) => {
    // The headers of a function are not among those of the call.
    hasHeaders ||= isObject(argument) && typeof argument.headers === 'function'
  }
  const [ended] = await Promise.allSettled([(async () => write(quiet(client as SupportWorkspace<'self'>, look)))()])
  if (captured === undefined)
    throw ended.status === 'rejected' ? ended.reason : misuse('makes no write, or does not return its call')
  if (writes > 1) throw misuse('makes more than one write')
  if (hasHeaders || Object.keys(captured.headers).length > 0) throw misuse('sets headers, which would not be sent')
  return captured
}

/** Returns a client whose calls can reject unawaited. In Node, each such rejection would end the process. */
function quiet<Target extends object>(target: Target, look: (argument: unknown) => void): Target {
  // A proxy around the target itself could not replace a property that is read-only.
  return new Proxy(Object.create(Object.getPrototypeOf(target) as object) as Target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return isObject(value) ? quiet(value, look) : value
      return (...args: unknown[]) => {
        for (const each of args) look(each)
        const result: unknown = Reflect.apply(value, target, args)
        if (result instanceof Promise) result.catch(() => {})
        return result
      }
    },
    // For a spread: `{ ...client }`.
    ownKeys: () => Reflect.ownKeys(target),
    getOwnPropertyDescriptor(_, name) {
      const found = Reflect.getOwnPropertyDescriptor(target, name)
      return found && { ...found, configurable: true }
    },
  })
}

function misuse(problem: string): InvalidArgumentError {
  const hint =
    'Return one call that changes data, made with the client that the function gets. Propose each write of a sequence.'
  return new InvalidArgumentError('write', `The function of the proposal ${problem}.`, hint)
}

/** Returns what a person approves of a call, as the storage returns it. */
export function contentOf(
  { operation: { body, query, response, ...operation }, ...call }: OutgoingCall,
  rest: Pick<ApprovedContent, 'organization' | 'author' | 'known' | 'answers' | 'expiresAt'>,
): ApprovedContent {
  return JSON.parse(
    JSON.stringify({
      ...{ service: call.baseUrl, operation, path: call.path, parameters: call.parameters, query: call.query },
      ...{ text: JSON.stringify(call.body), ...rest },
      ...(isOwn(operation) && body !== undefined && { isChecked: true }),
    }),
  )
}

/** Returns an edited version, whose body was checked like the one of a call. */
export async function editOf(
  workspace: SupportWorkspace,
  before: ApprovedContent,
  body: unknown,
): Promise<Pick<ProposalEntry, 'digest' | 'content'>> {
  if (before.text === undefined) {
    throw new InvalidArgumentError('body', 'The write has no body to edit.', 'Leave `body` out.')
  }
  if (before.isChecked) {
    const problem = 'The schema of an operation of your own is not kept, so that an edit could not be checked.'
    throw new InvalidArgumentError('body', problem, 'Reject the proposal, and propose the edited body.')
  }
  const call = await capture(workspace, callWith(body, before))
  const content = { ...before, text: JSON.stringify(call.body) }
  return { digest: await digestOf(content), content }
}

/** Makes the call of a proposal with another body, as its author would make it now. */
function callWith(body: unknown, { operation, parameters }: ApprovedContent): WriteFunction {
  // An operation of the caller was stored without its schemas.
  if (isOwn(operation)) return (client) => client.callAgain(operation, { path: parameters, body })
  // The id of a built-in operation is the name of its method: `messages.create`.
  const [resource = '', method = ''] = operation.id.split('.')
  const ids = Array.from(operation.path.matchAll(/\{(\w+)\}/g), ([, name = '']) => parameters[name])
  return (client) => Reflect.get(client, resource)[method](...ids, body)
}

function isOwn({ evidence }: ApprovedContent['operation']): boolean {
  return evidence === undefined
}
