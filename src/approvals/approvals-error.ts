import { type ErrorDetails, SupportWorkspaceError } from '../errors/index.ts'
import type { Proposal, ProposalEntry } from './proposal.ts'

/**
 * A proposal is not in the state for a step, its entry is damaged, or the storage failed. With the remedy `retry`, the
 * same call can be made again.
 */
export class ApprovalsError extends SupportWorkspaceError {
  static override readonly kind: string = 'ApprovalsError'

  /** The key of the proposal. Undefined if the error is not about a single one. */
  readonly key: string | undefined
  /** The state of the proposal now. Undefined if there is none, or it could not be read. */
  readonly state: Proposal['state'] | undefined
  /** Who has decided about the proposal. Undefined if nobody has. */
  readonly by: string | undefined
  /** The id of the created or changed item, if the write was sent. */
  readonly id: string | undefined

  /** @param now the proposal, if there is one */
  constructor(
    key: string | undefined,
    message: string,
    details: ErrorDetails,
    now?: Pick<Proposal, 'state' | 'decisions' | 'id'>,
  ) {
    super(message, details)
    this.key = key
    this.state = now?.state
    this.by = now?.decisions.at(-1)?.by
    this.id = now?.id
  }
}

/** Returns the error for a step that the state of a proposal does not allow. */
export function notAllowed(
  key: string,
  step: string,
  now: ProposalEntry | undefined,
  problem?: string,
  hint = now === undefined ? 'Look for the key in `list`.' : 'Read it with `get`, and show it to the person.',
): ApprovalsError {
  const { state, decisions } = now ?? { decisions: [] }
  const last = decisions.at(-1)
  const decided = last === undefined ? '' : ` (${last.decision} by ${last.by})`
  const what = problem ?? (state === undefined ? 'does not exist' : `is ${state}${decided}`)
  return new ApprovalsError(key, `The proposal "${key}" ${what}, so it cannot be ${step}.`, { hint }, now)
}

/** Whether an error is about a single entry, so that the other proposals can go on. */
export function isDamage(thrown: unknown): thrown is ApprovalsError {
  return thrown instanceof ApprovalsError && thrown.remedy === 'fix'
}
