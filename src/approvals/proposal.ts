import type { Operation } from '../core/index.ts'
import { recordFields, type WriteRecord } from '../journal/interface.ts'
import { sha256 } from '../shared/bytes.ts'
import { isObject, type JsonObject, parseObject, sortedJson } from '../shared/json.ts'
import {
  type FieldChecks,
  hasFields,
  isCount,
  isListOf,
  isOneOf,
  isOptional,
  isRecordOf,
  isText,
} from '../storage/interface.ts'

/**
 * The state of a proposal:
 *
 * - `pending`: it waits for a person.
 * - `approved`: it waits for `send`.
 * - `sending`: it is being sent, or is unconfirmed.
 *
 * The others are final:
 *
 * - `sent`: the service has applied it.
 * - `rejected`: a person has rejected it.
 * - `stale`: the conversation has a message that its author did not know.
 * - `expired`: nobody has approved it in time, or it could not be sent in time.
 * - `refused`: the service has rejected it, or its entry in the storage was changed.
 */
export type ProposalState = 'pending' | 'approved' | 'sending' | 'sent' | 'rejected' | 'stale' | 'expired' | 'refused'

/** What a person has decided. */
export interface ProposalDecision {
  /** Whether the person has approved or rejected the proposal. */
  readonly decision: 'approved' | 'rejected'
  /** The person, as you have named them. */
  readonly by: string
  /** When, in milliseconds since the Unix epoch. */
  readonly at: number
  /** The digest of what the person has decided about. */
  readonly digest: string
}

/** A version of a proposal from before a person edited it. */
export interface EarlierVersion {
  /** The digest of the version. */
  readonly digest: string
  /** The request body of the version. */
  readonly body: unknown
}

/** A write that waits for a person. Plain JSON. Times are in milliseconds since the Unix epoch. */
export interface Proposal {
  /** Your name for the write. */
  readonly key: string
  /** What became of it so far. */
  readonly state: ProposalState
  /** Identifies all that a person approves. Pass it to `approve` as the page showed it. */
  readonly digest: string
  /** The id of the operation, for example `messages.create`. */
  readonly operation: string
  /** The HTTP method. */
  readonly method: string
  /** The path of the request. */
  readonly path: string
  /** The query parameters. */
  readonly query: JsonObject
  /** The request body. Undefined if there is none, or it was forgotten. */
  readonly body?: unknown
  /** The conversation in the path. */
  readonly conversationId?: string | undefined
  /** The ids of the messages that do not make it stale. Undefined if no message does. */
  readonly known?: readonly string[] | undefined
  /** The id of the organization. */
  readonly organization: string
  /** The id of the person whose token sends it. */
  readonly author: string
  /** When it was proposed. */
  readonly proposedAt: number
  /** After this time, it is not sent. Undefined if it does not expire. */
  readonly expiresAt?: number | undefined
  /** What people have decided, the first one first. */
  readonly decisions: readonly ProposalDecision[]
  /** What was proposed, if a person has edited it. */
  readonly earlier: readonly EarlierVersion[]
  /** When it reached a final state. */
  readonly endedAt?: number | undefined
  /** Why it was rejected, refused or became stale. */
  readonly reason?: string | undefined
  /** The id of the created or changed item. */
  readonly id?: string | undefined
}

/** All that a person approves: what is sent, and whether the last look lets it pass. */
export interface ApprovedContent
  extends Pick<Proposal, 'organization' | 'author' | 'path' | 'query' | 'known' | 'expiresAt'> {
  /** The base URL of the service. */
  readonly service: string
  /** The definition of the operation without its schemas. A built-in one has `evidence`. */
  readonly operation: Operation
  readonly parameters: Readonly<Record<string, string>>
  /** The request body as JSON text, as it is sent. */
  readonly text?: string | undefined
  /** The id of the message that the write answers, if it is known. */
  readonly answers?: string | undefined
  /** Whether a schema of the caller has checked the body. */
  readonly isChecked?: boolean | undefined
}

/** What the storage keeps of a proposal. */
export interface ProposalEntry
  extends Pick<Proposal, 'state' | 'digest' | 'proposedAt' | 'decisions' | 'earlier' | 'endedAt' | 'reason' | 'id'> {
  /** Counts how often the key was begun anew. The entry with the highest number counts. */
  readonly epoch: number
  readonly content: ApprovedContent
  /** When a person has approved what it is now. */
  readonly approvedAt?: number | undefined
  /** The ids of newer messages that the last look has let pass. */
  readonly passed?: readonly string[] | undefined
  /** The record of the journal. It is in here, so that one compare-and-set decides whether the write is sent. */
  readonly write?: WriteRecord | undefined
}

const finalStates: readonly ProposalState[] = ['sent', 'rejected', 'stale', 'expired', 'refused']
export const states: readonly ProposalState[] = ['pending', 'approved', 'sending', ...finalStates]

export function isFinal({ state }: { readonly state: ProposalState }): boolean {
  return finalStates.includes(state)
}

/** Whether the time of a proposal is over. */
export function isOver({ content: { expiresAt } }: ProposalEntry): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now()
}

export function toProposal(
  key: string,
  { epoch, content, write, approvedAt, passed, ...rest }: ProposalEntry,
): Proposal {
  const { service, operation, parameters, text, answers, isChecked, ...shown } = content
  const { conversation_id: conversationId } = parameters
  return {
    ...{ key, ...shown, ...rest, operation: operation.id, method: operation.method },
    ...(text !== undefined && { body: JSON.parse(text) as unknown }),
    ...(conversationId !== undefined && { conversationId }),
  }
}

/** The algorithms of all digests that were ever written. None is removed, so that an old approval stays valid. */
const algorithms: Readonly<Record<string, (content: ApprovedContent) => Promise<string>>> = {
  v1: (content) => sha256(sortedJson(content)),
}

/** Returns the digest of what a person approves. */
export async function digestOf(content: ApprovedContent, version = 'v1'): Promise<string> {
  return `${version}:${await algorithms[version]?.(content)}`
}

/**
 * Whether an entry has the content of its digest and, unless it is pending, the last approval is of this digest. What is
 * being sent has a record of it.
 */
export async function isIntact({ state, decisions, digest, content, write }: ProposalEntry): Promise<boolean> {
  const approval = decisions.findLast(({ decision }) => decision === 'approved')
  if (state !== 'pending' && approval?.digest !== digest) return false
  if (state === 'sending' && write === undefined) return false
  const [version = ''] = digest.split(':')
  return Object.hasOwn(algorithms, version) && (await digestOf(content, version)) === digest
}

const contentFields: FieldChecks<ApprovedContent> = {
  ...{ service: isText, organization: isText, author: isText, path: isText, query: isObject },
  operation: hasFields({ id: isText, method: isText, path: isText }),
  parameters: isRecordOf(isText),
  text: isOptional((value) => isText(value) && parseObject(`{"body":${value}}`) !== undefined),
  ...{ known: isOptional(isListOf(isText)), answers: isOptional(isText), expiresAt: isOptional(Number.isFinite) },
  isChecked: isOptional(isOneOf(true)),
}

/** The checks of each field of an entry. */
export const fields: FieldChecks<ProposalEntry> = {
  epoch: (value) => isCount(value) && value > 0,
  state: isOneOf(...states),
  content: hasFields(contentFields),
  ...{ digest: isText, proposedAt: Number.isFinite, endedAt: isOptional(Number.isFinite) },
  decisions: isListOf(hasFields({ decision: isText, by: isText, at: Number.isFinite, digest: isText })),
  earlier: isListOf(hasFields({ digest: isText })),
  ...{ reason: isOptional(isText), id: isOptional(isText) },
  ...{ approvedAt: isOptional(Number.isFinite), passed: isOptional(isListOf(isText)) },
  write: isOptional(hasFields(recordFields)),
}
