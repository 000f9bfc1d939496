import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Queue } from 'bullmq'
import { parseDocument } from 'htmlparser2'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ConnectionStatus } from '../../examples/fleet-sync/database.ts'
import { createSite, serveSite } from '../../examples/fleet-sync/page/site.ts'
import { statusPage } from '../../examples/fleet-sync/page/status-page.ts'
import { findRedis, type RedisServer, startRedis } from '../connections/helpers/redis-server.ts'

const now = Date.parse('2026-03-01T12:00:00Z')

function connection(fields: Partial<ConnectionStatus> = {}): ConnectionStatus {
  return {
    key: 'key-1',
    organization: 'Acme',
    state: 'waiting',
    completeSweeps: 3,
    lastCompleteAt: now - 90_000,
    items: 1_200,
    sweepItems: 0,
    nextRunAt: now + 30_000,
    problem: undefined,
    ...fields,
  }
}

type Node = ReturnType<typeof parseDocument>['children'][number]

/** Returns the elements with this name, in document order. */
function elements(
  root: { children: Node[] },
  name: string,
): (Node & { children: Node[]; attribs: Record<string, string> })[] {
  return root.children.flatMap((node) => {
    if (!('attribs' in node)) return []
    return [...(node.name === name ? [node] : []), ...elements(node, name)]
  })
}

function text(node: Node): string {
  if (node.type === 'text') return node.data
  return 'children' in node ? node.children.map(text).join(' ').replace(/\s+/g, ' ').trim() : ''
}

async function render(connections: ConnectionStatus[], filter = {}) {
  return parseDocument(String(await statusPage({ connections, now, filter })))
}

/** Returns the text of each cell, row by row. */
async function rows(connections: ConnectionStatus[], filter = {}) {
  const [, ...found] = elements(await render(connections, filter), 'tr')
  return found.map((row) => row.children.filter((cell) => 'attribs' in cell).map(text))
}

async function totals(connections: ConnectionStatus[]) {
  const page = await render(connections)
  const [names, values] = [elements(page, 'dt').map(text), elements(page, 'dd').map(text)]
  return Object.fromEntries(names.map((name, index) => [name, values[index]]))
}

describe('the status page', () => {
  test('names the state of each connection in words, and shows those that need a person first', async () => {
    const states = ['waiting', 'syncing', 'delayed', 'revoked', 'failed'] as const
    const shown = await rows(states.map((state) => connection({ state, key: state })))
    expect(shown.map(([, state]) => state)).toEqual(['✕ Failed', '⊘ Revoked', '◷ Delayed', '▶ Syncing', '✓ Up to date'])
  })

  test('says that a connection waits only if its sweep is incomplete or its next run is late', async () => {
    const stateOf = async (fields: Partial<ConnectionStatus>) => (await rows([connection(fields)]))[0]?.[1]
    expect(await stateOf({})).toBe('✓ Up to date')
    expect(await stateOf({ nextRunAt: now - 500 })).toBe('✓ Up to date')
    expect(await stateOf({ nextRunAt: now - 5_000 })).toBe('… Waiting')
    expect(await stateOf({ nextRunAt: undefined })).toBe('… Waiting')
    expect(await stateOf({ completeSweeps: 0 })).toBe('… Waiting')
  })

  test('shows the ids in a key instead of the key, and finds a connection by them', async () => {
    const nameOf = async (key: string, search = '') => (await rows([connection({ key })], { search }))[0]?.[0]
    const key = 'self.app=5fsandbox.org=5fharbour-books.usr=5f41f1=c3=a9'
    expect(await nameOf(key)).toBe('Acme org_harbour-books · usr_41f1=c3=a9')
    expect(await nameOf(key, 'org_harbour')).toBe('Acme org_harbour-books · usr_41f1=c3=a9')
    expect(await nameOf(key, 'org=5fharbour')).toBe('Acme org_harbour-books · usr_41f1=c3=a9')
    expect(await nameOf('app.app=5fsandbox.org=5facme')).toBe('Acme org_acme')
    expect(await nameOf(`app.a.==5f${'0'.repeat(62)}`)).toBe(`Acme ==5f${'0'.repeat(62)}`)
    const [row] = elements(await render([connection({ key })]), 'span').filter(({ attribs }) => attribs.title)
    expect(row?.attribs.title).toBe(key)
  })

  test('shows the progress of a running sweep in proportion to the stored items', async () => {
    const running = connection({ state: 'syncing', sweepItems: 300 })
    const [bar] = elements(await render([running]), 'progress')
    expect(bar?.attribs).toMatchObject({ value: '300', max: '1200', 'aria-label': 'Sweep of Acme' })
    expect((await rows([running]))[0]?.[2]).toBe('300 of 1,200')
  })

  test('shows how far the first sweep is without a total', async () => {
    const first = connection({
      state: 'syncing',
      completeSweeps: 0,
      lastCompleteAt: undefined,
      items: 50,
      sweepItems: 50,
    })
    const [row] = await rows([first])
    expect(row?.slice(2)).toEqual(['50 so far', '50', 'never 0 sweeps', 'running'])
    expect(elements(await render([first]), 'progress')).toEqual([])
  })

  test('shows when the next run is due, and how late it is', async () => {
    const nextRun = async (nextRunAt: number | undefined) => (await rows([connection({ nextRunAt })]))[0]?.[5]
    expect(await nextRun(now + 30_000)).toBe('in 30s')
    expect(await nextRun(now - 125_000)).toBe('2m late')
    expect(await nextRun(undefined)).toBe('–')
  })

  test.each([2 ** 62, Number.NaN, Number.POSITIVE_INFINITY])(
    'shows the other connections when a time is %s',
    async (at) => {
      const connections = [connection({ nextRunAt: at, lastCompleteAt: at }), connection({ key: 'key-2' })]
      const [bad, good] = await rows(connections)
      expect(bad?.slice(4)).toEqual(['unknown 3 sweeps', 'unknown'])
      expect(good?.slice(4)).toEqual(['1m ago 3 sweeps', 'in 30s'])
      expect(await totals(connections)).toMatchObject({ 'Oldest sweep': '1m ago', 'Largest lag': '0s' })
    },
  )

  test('shows why a connection does not sync', async () => {
    const [row] = await rows([connection({ state: 'revoked', problem: 'The access was revoked.' })])
    expect(row?.slice(1, 3)).toEqual(['⊘ Revoked The access was revoked.', ''])
  })

  test('counts what skipped something as in need of attention, and shows it first among those of its state', async () => {
    const connections = [
      connection({ organization: 'Acme' }),
      connection({ organization: 'Beech', key: 'key-2', problem: 'Skipped items.' }),
      connection({ organization: 'Cedar', key: 'key-3', state: 'delayed', problem: 'The rate limit was exceeded.' }),
    ]
    expect(await totals(connections)).toMatchObject({ 'Need attention': '1' })
    expect((await rows(connections)).map(([name]) => name)).toEqual(['Cedar key-3', 'Beech key-2', 'Acme key-1'])
  })

  test('adds up all connections, also those that the filter hides', async () => {
    const connections = [
      connection({ nextRunAt: now - 5_000 }),
      connection({ key: 'key-2', state: 'failed', lastCompleteAt: now - 7_200_000, nextRunAt: undefined }),
    ]
    const expected = {
      Connections: '2',
      'Need attention': '1',
      Items: '2,400',
      Sweeps: '6',
      'Oldest sweep': '2h ago',
      'Largest lag': '5s',
    }
    expect(await totals(connections)).toEqual(expected)
    expect(await totals([])).toMatchObject({ Connections: '0', 'Oldest sweep': '–', 'Largest lag': '0s' })
  })

  test('filters by state, and by a part of the organization or key', async () => {
    const connections = [
      connection({ organization: 'Acme', key: 'a' }),
      connection({ organization: 'Beech', key: 'b', state: 'failed' }),
      connection({ organization: 'Acme Labs', key: 'c', state: 'failed' }),
    ]
    const names = async (filter: object) => (await rows(connections, filter)).map(([name]) => name)
    expect(await names({ state: 'failed' })).toEqual(['Acme Labs c', 'Beech b'])
    expect(await names({ search: ' ACME ' })).toEqual(['Acme Labs c', 'Acme a'])
    expect(await names({ state: 'failed', search: 'acme' })).toEqual(['Acme Labs c'])
    expect(text(elements(await render(connections, { search: 'nobody' }), 'main')[0] as Node)).toContain(
      'No connection matches.',
    )
  })

  test('escapes names, keys and problems, which come from the service', async () => {
    const hostile = `"><script>alert('x')</script>&amp;`
    const page = await render(
      [connection({ organization: hostile, key: hostile, state: 'syncing', problem: hostile })],
      { state: 'syncing', search: '"><script>' },
    )
    expect(elements(page, 'script').map(({ attribs }) => attribs.src)).toEqual(['/refresh.js'])
    const escaped = await rows([connection({ organization: hostile, key: hostile, problem: hostile })])
    expect(escaped[0]?.[0]).toBe(`${hostile} ${hostile}`)
    expect(escaped[0]?.[1]).toBe(`✓ Up to date ${hostile}`)
  })

  test('isolates the direction of names, keys and problems', async () => {
    const override = '\u202Egnp.exe'
    const page = await render([connection({ organization: override, key: override, problem: override })])
    const [row] = elements(page, 'tbody').flatMap((body) => elements(body, 'tr'))
    const isolated = elements(row!, 'bdi').map(text)
    expect(isolated).toEqual([override, override, override])
    expect(text(row!).split(override)).toHaveLength(isolated.length + 1)
  })

  test('has a header for each column and row', async () => {
    const page = await render([connection()])
    const scopes = elements(page, 'th').map(({ attribs }) => attribs.scope)
    expect(scopes).toEqual(['col', 'col', 'col', 'col', 'col', 'col', 'row'])
    expect(elements(page, 'caption').map(text)).toEqual(['Connections'])
  })
})

const binary = findRedis()
test.runIf(process.env.REQUIRE_REDIS === '1')('finds the redis-server that REQUIRE_REDIS requires', () => {
  expect(binary).toBeDefined()
})

describe.skipIf(binary === undefined)('the site', () => {
  let redis: RedisServer
  let queue: Queue
  beforeAll(async () => {
    redis = await startRedis(binary ?? '')
    queue = new Queue('sweeps', { connection: { path: redis.path } })
    await queue.add('sweep', { key: 'key-1' })
  })
  afterAll(async () => {
    await queue.close()
    await redis.close()
  })

  const site = () => createSite({ database: { status: async () => [connection()] }, queue })

  test('serves the page on loopback with its style and script', async () => {
    const { url, close } = await serveSite({ database: { status: async () => [connection()] }, queue }, 0)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const page = await fetch(url)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(await page.text()).toContain('Acme')
    const types = await Promise.all(
      ['/style.css', '/refresh.js'].map(async (path) => (await fetch(url + path)).headers.get('content-type')),
    )
    expect(types).toEqual(['text/css', 'text/javascript'])
    await close()
  })

  test('responds to HEAD as to GET, without a body', async () => {
    for (const path of ['', 'style.css', 'queues']) {
      const response = await site().request(`http://127.0.0.1/${path}`, { method: 'HEAD' })
      expect([response.status, await response.text()]).toEqual([200, ''])
    }
  })

  test('redirects a path with a slash at its end', async () => {
    const response = await site().request('http://127.0.0.1/queues/')
    expect([response.status, response.headers.get('location')]).toEqual([301, 'http://127.0.0.1/queues'])
  })

  test.each(['http://evil.example/', 'http://127.0.0.1.evil.example/queues'])('refuses the host of %s', async (url) => {
    expect((await site().request(url)).status).toBe(403)
  })

  test('refuses a host that no URL can have, without a log of it', async ({ onTestFinished }) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => log.mockRestore())
    const { url, close } = await serveSite({ database: { status: async () => [connection()] }, queue }, 0)
    const statusFor = async (host: string) => {
      const sent = request(url, { headers: { host } }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      response.resume()
      return response.statusCode
    }
    for (const host of ['127.0.0.999', '1.2.3.4.5', '256.0.0.1', 'xn--a', '..', '0xg']) {
      expect(await statusFor(host), host).toBe(403)
    }
    // The server refuses these before the site gets them.
    for (const host of ['[::1', '%00', 'a b', '127.0.0.1:99999', 'evil.example@127.0.0.1', '127.0.0.1#']) {
      expect(await statusFor(host), host).toBe(400)
    }
    expect(await statusFor('localhost')).toBe(200)
    expect(log).not.toHaveBeenCalled()
    await close()
  })

  test('shows the queue, and does not let anyone change it', async () => {
    const board = await site().request('http://127.0.0.1/queues')
    expect(board.status).toBe(200)
    const response = await site().request('http://127.0.0.1/queues/api/queues?activeQueue=sweeps&jobsPerPage=10')
    const { queues } = (await response.json()) as {
      queues: { name: string; readOnlyMode: boolean; counts: { waiting: number } }[]
    }
    expect(queues).toMatchObject([{ name: 'sweeps', readOnlyMode: true, counts: { waiting: 1 } }])
    for (const path of ['queues/pause', 'queues/sweeps/pause', 'queues/sweeps/empty', 'queues/sweeps/obliterate']) {
      expect((await site().request(`http://127.0.0.1/queues/api/${path}`, { method: 'PUT' })).status).toBe(405)
    }
    expect(await queue.getWaitingCount()).toBe(1)
    expect(await queue.isPaused()).toBe(false)
  })
})
