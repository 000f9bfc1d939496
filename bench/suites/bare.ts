import { sampleText } from '../peers/peer.ts'

const headers = { authorization: 'Bearer bench', accept: 'application/json' }

/** Fetches a page with `fetch` and `json()`. `page` is the number of the page, from 0. */
export async function fetchPage(origin: string, limit: number, page = 0): Promise<unknown> {
  const after = page === 0 ? '' : `&after=page_${page}`
  return readJson(await fetch(`${origin}/bare?limit=${limit}${after}`, { headers }))
}

/** Sends a message with `fetch` and reads the response with `json()`. */
export async function postMessage(origin: string): Promise<unknown> {
  const body = JSON.stringify({ body_html: sampleText })
  const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }
  return readJson(await fetch(`${origin}/bare`, init))
}

async function readJson(response: Response): Promise<unknown> {
  if (!response.ok) throw new Error(`Bare fetch failed with status ${response.status}.`)
  return response.json()
}
