import { operations } from '../client/index.ts'
import type { RecordedRequest, Sandbox } from '../sandbox/index.ts'
import { isObject } from '../shared/json.ts'

/** An applied write, described so that the description is the same in every run. */
export interface NamedWrite {
  /**
   * The id of the operation and the path. The ids of items that the job created are replaced by a description of the
   * item.
   */
  readonly target: string
  /** Whether the write creates an item, so that applying it twice creates two. */
  readonly creates: boolean
  /**
   * The created item as JSON without ids and times. For a change, the values of the sent fields at the end of the run.
   */
  readonly content: string
  /** The parts of the path that lead to the item, with the same replacements as in `target`. */
  readonly place: readonly string[]
  /** The names of the fields that the job sent to this path. Empty if the write creates an item. */
  readonly fields: readonly string[]
}

/** The writes of a run, and its data at the end. */
export interface Effects {
  /** The applied writes, oldest first. */
  readonly writes: readonly NamedWrite[]
  /**
   * Returns the `content` that a write of another run would have in this run, even if this run did not send the write.
   */
  contentOf(write: NamedWrite): string
}

/** Returns the writes of a sandbox after the first `skipped` ones, which `setup` made. */
export function effectsOf({ state, requests }: Sandbox, skipped: number): Effects {
  const names = new Map<string, string>()
  const data = [state, ...state.organizations.slice(1).map(({ id }) => state.of(id))]
  const fieldsAt = (path: string): readonly string[] => {
    const bodies = requests.flatMap((each) => (each.path === path && isObject(each.body) ? Object.keys(each.body) : []))
    return [...new Set(bodies)].sort()
  }
  const contentOf = ({ place, fields }: NamedWrite): string => {
    const ids = new Map([...names].map(([id, name]) => [name, id]))
    const item = itemAt(
      data,
      place.map((part) => ids.get(part) ?? part),
    )
    return isObject(item) ? JSON.stringify(fields.map((field) => item[field])) : ''
  }
  const writes = state.writes.map(({ operation, path, id }): NamedWrite => {
    const request = requests.find((each) => each.operation === operation)
    const name = request === undefined ? operation : operationOf(request)
    const parts = path.split('/').slice(4)
    const place = parts.map((part) => names.get(part) ?? part)
    const target = `${name} ${path.replace(/[^/]+/g, (part) => names.get(part) ?? part)}`
    const creates = /^(create|invite)/.test(operation)
    if (!creates) return { target, creates, content: '', place, fields: fieldsAt(path) }
    const content = createdContent(itemAt(data, [...parts, id ?? '']), names)
    if (id !== undefined) names.set(id, `{${name} ${content}}`)
    return { target, creates, content, place, fields: [] }
  })
  const read = writes.slice(skipped)
  return { writes: read.map((write) => (write.creates ? write : { ...write, content: contentOf(write) })), contentOf }
}

/**
 * Returns the operation id of a request, for example `messages.create`. Otherwise the sandbox's name for it, or the
 * path.
 */
export function operationOf({ method, path, operation }: RecordedRequest): string {
  const isOf = (template: string): boolean => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
  return operations.find((each) => each.method === method && isOf(each.path))?.id ?? operation ?? path
}

type Data = Pick<
  Sandbox['state'],
  'organization' | 'settings' | 'conversations' | 'contacts' | 'members' | 'tasks' | 'segments' | 'messages' | 'notes'
>

/**
 * Returns the item at a path, for example `['conversations', id, 'messages', id]`. Undefined if the item was deleted.
 */
function itemAt(data: readonly Data[], [list = '', id, inner, innerId]: readonly string[]): unknown {
  const name = list === 'users' ? 'members' : list
  for (const one of data) {
    if (name === 'organization') return id === 'settings' ? one.settings : one.organization
    const found = one[name as 'conversations']?.find((item) => item.id === id)
    if (found === undefined) continue
    if (inner === 'assignee') return found.conversation_assignee
    return inner === undefined ? found : one[inner as 'messages']?.(found.id).find((item) => item.id === innerId)
  }
  return undefined
}

/** The names of fields that later requests change, or that differ in each run. */
const variable = /(^|_)(id|at)$|^last_message|^unread_count$/

function createdContent(item: unknown, names: ReadonlyMap<string, string>): string {
  const text = JSON.stringify(item, (name, value) => (variable.test(name) ? undefined : value)) ?? ''
  return [...names].reduce((all, [id, name]) => all.replaceAll(id, name), text)
}
