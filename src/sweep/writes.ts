import { operations } from '../client/index.ts'
import type { RecordedRequest, Sandbox } from '../sandbox/index.ts'

/** A write that took effect, in words that are the same in every run. */
export interface NamedWrite {
  /** The id of the operation and the path. Ids that the job created are replaced by what they belong to. */
  readonly target: string
  /** Whether applying it twice makes two of something. */
  readonly creates: boolean
  /** What it created, as JSON without ids and times. */
  readonly content: string
}

/** Returns the writes of a run, oldest first. */
export function namedWrites({ state, requests }: Sandbox): NamedWrite[] {
  const names = new Map<string, string>()
  const data = [state, ...state.organizations.slice(1).map(({ id }) => state.of(id))]
  return state.writes.map(({ operation, path, id }) => {
    const request = requests.find((each) => each.operation === operation)
    const name = request === undefined ? operation : operationOf(request)
    const target = `${name} ${path.replace(/[^/]+/g, (part) => names.get(part) ?? part)}`
    const creates = /^(create|invite)/.test(operation)
    const content = creates ? contentOf(find(data, path, id), names) : ''
    if (creates && id !== undefined) names.set(id, `{${name} ${content}}`)
    return { target, creates, content }
  })
}

/** Returns the id of a request's operation, such as `messages.create`, or what the service calls it if there is none. */
export function operationOf({ method, path, operation }: RecordedRequest): string {
  const isOf = (template: string): boolean => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
  return operations.find((each) => each.method === method && isOf(each.path))?.id ?? operation ?? path
}

type Data = Pick<
  Sandbox['state'],
  'conversations' | 'contacts' | 'members' | 'tasks' | 'segments' | 'messages' | 'notes'
>

/** Returns what a write created, unless it was deleted since. */
function find(data: readonly Data[], path: string, id: string | undefined): unknown {
  const [, conversation, name = path.split('/').at(-1)] = /\/conversations\/([^/]+)\/(\w+)$/.exec(path) ?? []
  const list = name === 'users' ? 'members' : name
  for (const one of data) {
    const items = conversation === undefined ? one[list as 'contacts'] : one[list as 'messages']?.(conversation)
    const found = items?.find((item) => item.id === id)
    if (found !== undefined) return found
  }
  return undefined
}

/** Fields that later requests change, or that differ in each run. */
const variable = /(^|_)(id|at)$|^last_message|^unread_count$/

function contentOf(item: unknown, names: ReadonlyMap<string, string>): string {
  const text = JSON.stringify(item, (name, value) => (variable.test(name) ? undefined : value)) ?? ''
  return [...names].reduce((all, [id, name]) => all.replaceAll(id, name), text)
}
