import type { Client } from '../peers/peer.ts'

/** Iterates over a whole list and calls `afterPage` after each page. Returns the number of items. */
export async function walk(client: Client, limit: number, afterPage?: () => Promise<void>): Promise<number> {
  let count = 0
  if (client.items !== undefined) {
    const [items] = await client.items(limit)
    for await (const _ of items) {
      count += 1
      if (count % limit === 0) await afterPage?.()
    }
  } else if (client.pages !== undefined) {
    for await (const page of client.pages(limit)) {
      count += page.length
      await afterPage?.()
    }
  }
  return count
}
