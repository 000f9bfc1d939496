import type { Message, SupportWorkspace } from '../client/index.ts'
import { type Check, checkFlag, checkFunction, checkOneOf, checkPositive, checkText } from '../shared/check-options.ts'
import type { SealSecret } from '../shared/seal.ts'
import type { KeyValueStorage } from '../storage/interface.ts'
import type { ApprovalsError } from './approvals-error.ts'
import { type Basis, checkBasis } from './basis.ts'
import { type ProposalState, states } from './proposal.ts'

/** The options of `Approvals`. */
export interface ApprovalsOptions {
  /**
   * Client that proposes and sends. An app's token can propose what a person's token sends. Its middleware runs when a
   * write is proposed, and not when it is sent, because a person has approved the text.
   */
  readonly workspace: SupportWorkspace
  /** Storage for the proposals, with their texts. All processes must share it. */
  readonly storage: KeyValueStorage
  /**
   * Encrypts and authenticates what is stored: a text of at least 32 characters, or a list of such texts. The first
   * encrypts, and each can decrypt. Without it, whoever can write to the storage can forge a proposal.
   *
   * @default nothing is encrypted
   */
  readonly secret?: SealSecret | undefined
  /**
   * Returns true for a message that makes no proposal stale, for example an automatic reply. While it throws or returns
   * a promise, the proposal is `postponed`.
   *
   * @default each message counts
   */
  readonly ignore?: ((message: Message) => boolean) | undefined
}

/** The options of `propose`. */
export interface ProposeOptions {
  /**
   * The messages that the draft has read: their ids, or the id of the newest one, which stands for all that are older.
   * Messages of the same second count as unknown, because nobody knows their order. Null: no message makes the proposal
   * stale. Pass it if your function takes time to draft, because the default is read after the function has ended, so
   * that a message that arrives meanwhile counts as known.
   *
   * @default the messages that are there when the function has ended
   */
  readonly basis?: Basis | undefined
  /**
   * Milliseconds until the proposal expires.
   *
   * @default it does not expire
   */
  readonly expiresIn?: number | undefined
  /**
   * The id of the person whose token sends the write. Required with the token of an app.
   *
   * @default the person of the token
   */
  readonly author?: string | undefined
  /**
   * Whether to replace a proposal that is pending.
   *
   * @default false
   */
  readonly replace?: boolean | undefined
  /**
   * Whether to begin anew after `stale`, `expired`, `rejected` or `refused`.
   *
   * @default false
   */
  readonly again?: boolean | undefined
}

/** The options of `approve`. */
export interface ApproveOptions {
  /** The digest of what the person saw. */
  readonly digest: string
  /** Who approves. */
  readonly by: string
  /**
   * The request body, if the person has edited it. It is checked like the body of a call. Refused
   * for an operation of your own with a schema for its body, because the schema is not kept.
   */
  readonly body?: unknown
}

/** The options of `reject`. */
export interface RejectOptions {
  /** Who rejects. */
  readonly by: string
  /** Why. */
  readonly reason?: string | undefined
}

/** The options of `list`. */
export interface ListProposalsOptions {
  /**
   * The state of the proposals.
   *
   * @default all that have not ended
   */
  readonly state?: ProposalState | undefined
  /**
   * Called for each proposal whose entry cannot be read, with an error that has its `key`. The list is without them.
   *
   * @default `list` throws the first of these errors
   */
  readonly onUnreadable?: ((error: ApprovalsError) => void) | undefined
}

/** The checks of the options of each method. */
export const checks = {
  workspace: (_, value) => value,
  storage: (_, value) => value,
  secret: (_, value) => value as SealSecret,
  ignore: checkFunction<NonNullable<ApprovalsOptions['ignore']>>,
} satisfies Record<keyof ApprovalsOptions, Check<unknown>>

export const proposeChecks = {
  basis: checkBasis,
  expiresIn: checkPositive,
  author: checkText,
  replace: checkFlag,
  again: checkFlag,
} satisfies Record<keyof ProposeOptions, Check<unknown>>

export const approveChecks = {
  digest: checkText,
  by: checkText,
  body: (_, value) => value,
} satisfies Record<keyof ApproveOptions, Check<unknown>>

export const rejectChecks = { by: checkText, reason: checkText } satisfies Record<keyof RejectOptions, Check<unknown>>

export const listChecks = {
  state: (name, value) => checkOneOf(name, value, states),
  onUnreadable: checkFunction<NonNullable<ListProposalsOptions['onUnreadable']>>,
} satisfies Record<keyof ListProposalsOptions, Check<unknown>>
