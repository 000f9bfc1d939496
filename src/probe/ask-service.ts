import { type TraitName, traits } from '../api/index.ts'
import type { EvidenceFile } from '../evidence/index.ts'
import { Asker, type AskerOptions, Stopped } from './asker.ts'
import { askHeaders, findHeaders } from './headers.ts'
import { askConversations, askEnd, askPages, findOrder } from './lists.ts'
import { askPath, askPathOfId, type Controls, noSuchId, noSuchPath, shapeOf } from './paths.ts'
import { Questions } from './questions.ts'

/** The result of a probe. */
export interface ProbeFindings {
  /** The observations, to write to an evidence file. */
  readonly evidence: EvidenceFile
  /** Number of requests that were sent. */
  readonly requests: number
  /** Why the probe stopped early. Undefined if it asked everything. */
  readonly stopped: string | undefined
}

/** Traits that the recorder finds in a running app. A probe cannot find them, because this requires writes. */
const ofRecorder: readonly TraitName[] = ['entry.message', 'cursor.stale']

/** Sends the requests of a probe. Never rejects because of what the service does. */
export async function askService(options: AskerOptions): Promise<ProbeFindings> {
  const questions = new Questions(new Asker(options))
  let stopped: string | undefined
  try {
    await askAll(questions)
  } catch (thrown) {
    if (!(thrown instanceof Stopped)) throw thrown
    stopped = thrown.message
  }
  for (const trait of Object.keys(traits) as TraitName[]) {
    if (!questions.notebook.hasReason(trait)) questions.leave(trait, reasonFor(trait, stopped))
  }
  return { evidence: questions.notebook.evidence(), requests: questions.asker.requests, stopped }
}

function reasonFor(trait: TraitName, stopped: string | undefined): string {
  if (ofRecorder.includes(trait)) return 'It takes the calls of an app that writes: use a recorder.'
  return stopped ?? 'It takes a token that can read more, or an answer that differs from that of the control.'
}

async function askAll(questions: Questions): Promise<void> {
  const { asker, find, leave } = questions
  const me = await asker.get('/me')
  const isWrapped = me.item !== undefined && 'organization' in me.item
  if (me.status !== 200 || me.body === undefined || !(isWrapped || 'organization' in me.body)) {
    throw new Stopped(`It takes a token for which /me answers 200 with an organization, not ${me.status}.`)
  }
  const path = await asker.get(noSuchPath)
  const withoutToken = await asker.get('/me', { withoutToken: true })
  const id = await asker.get(`/users/${noSuchId}`)
  const controls: Controls = { path, id }
  if (path.status === 200) throw new Stopped('It takes a service that refuses a path that does not exist.')

  questions.notebook.noteResponse('me', 200, isWrapped ? me.item : me.body)
  find('wrap.me', isWrapped ? 'wrapped' : 'bare')
  find('error.unknownPath', shapeOf(path))
  if (withoutToken.status >= 400) find('error.withoutToken', shapeOf(withoutToken))
  else leave('error.withoutToken', 'The service answered a request without a token.')

  const conversation = await askConversations(questions)
  const messages =
    typeof conversation?.id === 'string' ? await askConversation(questions, conversation.id, controls) : undefined
  await askPathOfId(questions, 'conversations.get', '/conversations', conversation, controls)
  findOrder(questions, 'order.messages', messages, ['inserted_at'])

  const contacts = await askPages(questions, 'contacts', '/contacts')
  await askPathOfId(questions, 'contacts.get', '/contacts', contacts.items?.[0], controls)
  findOrder(questions, 'order.contacts', contacts.items, ['inserted_at', 'updated_at', 'active_at'])
  await askEnd(questions, contacts)

  const members = await askPages(questions, 'members', '/users')
  const member = members.items?.[0]?.id
  const known =
    typeof member === 'string' ? await questions.ask('members.get', `/users/${encodeURIComponent(member)}`) : undefined
  if (known !== undefined && known.item?.id === member && id.status >= 400) find('error.unknownId', shapeOf(id))

  await askHeaders(questions)
  await askPath(questions, 'organization.getSettings', '/organization/settings', controls)
  for (const name of ['tasks', 'segments'] as const) {
    const [first] = await askPath(questions, `${name}.list`, `/${name}`, controls)
    await askPathOfId(questions, `${name}.get`, `/${name}`, first, controls)
  }
  findHeaders(questions, asker.answers)
}

async function askConversation(questions: Questions, id: string, controls: Controls) {
  const path = `/conversations/${encodeURIComponent(id)}`
  const { items } = await askPages(questions, 'messages', `${path}/messages`)
  await askPath(questions, 'notes.list', `${path}/notes`, controls)
  return items
}
