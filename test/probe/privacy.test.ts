import { randomBytes } from 'node:crypto'
import type { WebFetch } from 'support-workspace-sdk'
import { describeEvidence, overlayOf, probe } from 'support-workspace-sdk/probe'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import { expect, test } from 'vitest'

/** Returns a fetch that replaces every value of a sandbox with a random text, and every free-form key. */
function markedService(sandbox: ReturnType<typeof createSandbox>) {
  const markers = new Map<string, string>()
  const originals = new Map<string, string>()
  const markerOf = (text: string): string => {
    const known = markers.get(text)
    if (known !== undefined) return known
    const marker = `q${randomBytes(12).toString('hex')}`
    markers.set(text, marker)
    originals.set(marker, text)
    return marker
  }
  const marked = (value: unknown, isFreeForm = false): unknown => {
    if (typeof value === 'string') return markerOf(value)
    if (Array.isArray(value)) return value.map((each) => marked(each, isFreeForm))
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([name, inner]) => {
      const isFree = isFreeForm || /^(meta_info|source_info|attributes|bot_configuration)$/.test(name)
      return [isFreeForm ? markerOf(name) : name, marked(inner, isFree)]
    })
    // Names that no document has: one that might be data, and free-form keys in every item.
    const more = isFreeForm ? { [markerOf('a key')]: markerOf('a value') } : {}
    return { ...Object.fromEntries(entries), ...more }
  }
  const unmarked = (text: string) => text.replaceAll(/q[0-9a-f]{24}/g, (marker) => originals.get(marker) ?? marker)
  const fetch: WebFetch = async (url, { method, headers }) => {
    const { pathname, searchParams } = new URL(url.replace('/zwqxkj', ''))
    const query = new URLSearchParams([...searchParams].map(([name, value]) => [name, unmarked(value)]))
    const response = await sandbox.fetch(`${sandbox.url}${unmarked(pathname)}?${query}`, {
      method,
      headers: { ...headers },
    })
    const json = (await response.json()) as Record<string, unknown>
    const named = new Headers(response.headers)
    for (const name of ['x-request-id', 'etag', 'ratelimit', 'x-internal-host']) named.set(name, markerOf(name))
    const body = marked({ ...json, [markerOf('a name')]: { [markerOf('a name below')]: 'value' } })
    return Response.json(body, { status: response.status, headers: named })
  }
  return { fetch, markers: () => [...markers.values()] }
}

test('nothing of the data of a service is in the evidence, its description or the Overlay', async () => {
  const sandbox = createSandbox({ conversations: 30 })
  const { fetch, markers } = markedService(sandbox)
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const { evidence, stopped } = await probe({
    baseUrl: 'https://zq7xkw.vjqpyf/zwqxkj',
    accessToken,
    confirmed: true,
    fetch,
    wait: async () => {},
  })
  expect(stopped).toBeUndefined()
  expect(Object.keys(evidence.traits).length).toBeGreaterThan(25)
  expect(Object.keys(evidence.fields)).toContain('message.meta_info')
  expect(evidence.traits['pages.contacts']).toHaveProperty('paginated')

  const shown = [evidence, ...describeEvidence(evidence), overlayOf(evidence)]
  const all = shown.map((each) => JSON.stringify(each)).join('\n')
  const secrets = [...markers(), accessToken, 'zq7xkw.vjqpyf', 'zwqxkj']
  expect(secrets.length).toBeGreaterThan(300)
  const pieces = secrets.flatMap((text) => Array.from({ length: text.length - 5 }, (_, at) => text.slice(at, at + 6)))
  expect(pieces.filter((piece) => all.includes(piece))).toEqual([])
})
