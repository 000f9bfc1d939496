import { readFileSync } from 'node:fs'

/** A conversation as the sandbox of the SDK returns it. */
type Conversation = Readonly<Record<string, unknown>> & { readonly id: string; readonly initial_message: string }

/** The 50 conversations of `startSandbox({ conversations: 50 })`. */
const conversations = readFileSync(new URL('conversations.ndjson', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): Conversation => JSON.parse(line))

/**
 * Returns a function that makes the JSON text of a page's items. The id of the last item is the cursor of the page,
 * because several services continue after the last item.
 */
export function itemsOf() {
  const cache = new Map<number, string>()
  return (count: number, cursor: string): string => {
    const [last] = conversations as [Conversation]
    return `[${headOf(count - 1)}${JSON.stringify({ ...last, id: cursor })}]`
  }

  function headOf(count: number): string {
    const cached = cache.get(count)
    if (cached !== undefined) return cached
    const items = Array.from({ length: count }, (_, index) => {
      const conversation = conversations[index % conversations.length] as Conversation
      return `${JSON.stringify({ ...conversation, id: `${conversation.id}${index}` })},`
    })
    const head = items.join('')
    cache.set(count, head)
    return head
  }
}
