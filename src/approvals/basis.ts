import type { SupportWorkspace } from '../client/index.ts'
import type { OutgoingCall } from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { pagesOf } from '../journal/interface.ts'
import { checkText, mustBe } from '../shared/check-options.ts'
import type { ApprovedContent } from './proposal.ts'

/**
 * The messages that the draft of a write has read: their ids, or the id of the newest one, or null if no message makes
 * the write stale.
 */
export type Basis = string | readonly string[] | null

export function checkBasis(name: string, basis: unknown): Basis {
  if (basis === null) return null
  if (typeof basis === 'string') return checkText(name, basis)
  // A copy has no holes, which `every` would skip.
  const ids = Array.isArray(basis) ? [...basis] : [undefined]
  if (ids.every((id) => typeof id === 'string' && id !== '')) return ids as string[]
  throw mustBe('the id of a message, a list of ids, or null', name, basis, 'Leave it out for the messages of now.')
}

/**
 * Returns the ids of the messages that a draft knows, and the message that it answers.
 *
 * @returns `isGone` if the message of the basis is not there any more
 */
export async function knownAt(
  reader: SupportWorkspace,
  { path, parameters: { conversation_id: conversation } }: OutgoingCall,
  basis: Basis | undefined,
): Promise<Pick<ApprovedContent, 'known' | 'answers'> & { readonly isGone?: boolean }> {
  if (basis === null) return {}
  if (conversation === undefined) {
    if (/\/conversations\/[^/]+\/./.test(path)) {
      const problem = 'The path has the conversation written out, so that no message could make the write stale.'
      const hint = 'Write `{conversation_id}` and pass it in `path`, or pass `basis: null`.'
      throw new InvalidArgumentError('path', problem, hint)
    }
    if (basis === undefined) return {}
    const problem = 'The path of the write has no conversation, so that no message can be newer.'
    throw new InvalidArgumentError('basis', problem, 'Leave `basis` out.')
  }
  if (typeof basis === 'object') return { known: sorted(basis) }
  const messages = (await Array.fromAsync(pagesOf((query) => reader.messages.list(conversation, query)))).flat()
  const newest = messages.reduce<(typeof messages)[number] | undefined>(
    (latest, each) => ((each.inserted_at ?? 0) > (latest?.inserted_at ?? -1) ? each : latest),
    undefined,
  )
  if (basis === undefined) return { known: sorted(messages.map(({ id }) => id)), answers: newest?.id }
  const question = messages.find(({ id }) => id === basis)
  if (question === undefined) return { known: [basis], isGone: true }
  const askedAt = question.inserted_at ?? Number.NEGATIVE_INFINITY
  // Without a time, a message may be newer.
  const older = messages.filter(({ inserted_at }) => (inserted_at ?? Number.POSITIVE_INFINITY) < askedAt)
  return { known: sorted([basis, ...older.map(({ id }) => id)]), answers: basis }
}

function sorted(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].sort()
}
