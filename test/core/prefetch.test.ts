import { describe, expect, test } from 'vitest'
import { brokenConnection, json, makeClient, neverSettles, page, refusal, scripted } from '../helpers/client.ts'
import { type RawRequest, type RawServer, respondJson, startRawServer } from '../helpers/raw-server.ts'
import { turns } from '../helpers/turns.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

/** Returns the number of the requested page, from 1. */
const numberOf = (request: RawRequest) => Number(new URLSearchParams(request.target.split('?')[1]).get('after') ?? 1)

/** Starts a server of five pages with two items each, which can hold back pages until they are released. It closes after the test. */
async function startPages(hold: (number: number) => boolean = () => false, failing?: number) {
  const held = new Map<number, () => void>()
  let whenRequested: (() => void)[] = []
  const server = await startRawServer({
    onRequest(request) {
      const number = numberOf(request)
      const good = page([{ id: `${number}a` }, { id: `${number}b` }], number < 5 ? String(number + 1) : null)
      const sendPage = () =>
        number === failing ? respondJson(request, { error: 'forbidden' }, { status: 403 }) : respondJson(request, good)
      if (hold(number)) held.set(number, sendPage)
      else sendPage()
      for (const resolve of whenRequested) resolve()
      whenRequested = []
    },
  })
  return {
    server,
    requested: () => server.requests.map(numberOf),
    release: (number: number) => held.get(number)?.(),
    /** Resolves once the server has received this many requests. */
    async requests(count: number) {
      while (server.requests.length < count) await new Promise<void>((resolve) => whenRequested.push(resolve))
    },
  }
}

/** A client whose requests end only when they are cancelled. */
const client = (server: RawServer) => makeClient({ baseUrl: server.url, timeout: Number.POSITIVE_INFINITY })

/** Waits long enough for an unwanted request to arrive. */
const manyTurns = () => turns(200)

describe('the next page', () => {
  test('is requested while the caller works, from the second page on, and never two ahead', async () => {
    const { server, requested, requests } = await startPages()
    const expected = [1, 3, 4, 5, 5]
    let number = 0
    for await (const { data } of client(server).conversations.list().pages()) {
      number += 1
      expect(data[0]?.id).toBe(`${number}a`)
      await requests(expected[number - 1] ?? 0)
      await manyTurns()
      expect(requested()).toEqual([1, 2, 3, 4, 5].slice(0, expected[number - 1]))
    }
    expect(number).toBe(5)
  })

  test('is not requested early with prefetch: false', async () => {
    const { server, requested } = await startPages()
    let number = 0
    for await (const _page of client(server).conversations.list({}, { prefetch: false }).pages()) {
      number += 1
      await manyTurns()
      expect(requested()).toHaveLength(number)
    }
    expect(number).toBe(5)
  })

  test('is cancelled, with its connection closed, when the caller leaves the loop', async () => {
    const { server, requests } = await startPages((number) => number === 3)
    for await (const { id } of client(server).conversations.list()) {
      if (id !== '2b') continue
      await requests(3)
      break
    }
    const [request] = server.requests.filter((each) => numberOf(each) === 3)
    if (!request?.socket.closed) await new Promise((resolve) => request?.socket.once('close', resolve))
    expect(server.requests).toHaveLength(3)
  })

  test('rejects only when the loop reaches it, and never as an unhandled rejection', async () => {
    const { server, requests } = await startPages(() => false, 3)
    const unhandled = await unhandledDuring(async () => {
      const seen: string[] = []
      const loop = async () => {
        for await (const { id } of client(server).conversations.list()) {
          seen.push(id)
          if (id === '2a') {
            await requests(3)
            await manyTurns()
          }
        }
      }
      await expect(loop()).rejects.toMatchObject({ status: 403 })
      expect(seen).toEqual(['1a', '1b', '2a', '2b'])
      // A failed page that the loop never reaches is not an unhandled rejection either.
      for await (const { id } of client(server).conversations.list()) {
        if (id !== '2a') continue
        await requests(6)
        await manyTurns()
        break
      }
      await manyTurns()
    })
    expect(unhandled).toEqual([])
  })

  /** Returns a fetch for a list of five pages. The first request of page 3 fails. */
  function failingOnce(failure: Response | Error) {
    let failed = false
    return scripted(({ url }) => {
      const number = Number(new URL(url).searchParams.get('after') ?? 1)
      if (number === 3 && !failed) {
        failed = true
        if (failure instanceof Error) throw failure
        return failure
      }
      return json(page([{ id: `${number}a` }], number < 5 ? String(number + 1) : null))
    })
  }

  test.each([
    ['a 503', refusal(503, 'busy')],
    ['a 408', refusal(408, 'slow')],
    ['a broken connection', brokenConnection()],
  ])('is fetched again when the loop reaches it after %s', async (_, failure) => {
    const fetch = failingOnce(failure)
    const seen: string[] = []
    for await (const { id } of makeClient({ fetch, maxRetries: 0 }).conversations.list()) {
      await manyTurns()
      seen.push(id)
    }
    expect(seen).toEqual(['1a', '2a', '3a', '4a', '5a'])
    expect(fetch.requests).toHaveLength(6)
  })

  test.each([
    ['a 503', refusal(503, 'busy'), 'ServerError'],
    ['a 429 with a long Retry-After', refusal(429, 'slow_down', { 'retry-after': '90' }), 'RateLimitError'],
    ['a broken connection', brokenConnection(), 'NetworkError'],
  ])('is not fetched again if the loop was waiting for it when it got %s', async (_, failure, name) => {
    const fetch = failingOnce(failure)
    const list = makeClient({ fetch, maxRetries: 0 }).conversations.list()
    await expect(list.toArray()).rejects.toMatchObject({ name })
    expect(fetch.requests).toHaveLength(3)
  })

  test("is not fetched again after the caller's abort", async () => {
    const fetch = failingOnce(brokenConnection())
    const controller = new AbortController()
    let started = 0
    const hooks = {
      onOperationStart() {
        started += 1
      },
    }
    const client = makeClient({ fetch, hooks, accessToken: () => (started < 3 ? 'swot_1' : neverSettles()) })
    const list = client.conversations.list({}, { signal: controller.signal }).pages()
    for (let number = 1; number <= 2; number += 1) await list.next()
    controller.abort('closing time')
    await manyTurns()
    await expect(list.next()).rejects.toBe('closing time')
    expect(started).toBe(3)
  })

  test('is not fetched again after a permanent failure, nor without prefetch', async () => {
    for (const [failure, prefetch] of [
      [refusal(403, 'forbidden'), true],
      [refusal(503, 'busy'), false],
    ] as const) {
      const fetch = failingOnce(failure)
      const list = makeClient({ fetch, maxRetries: 0 }).conversations.list({}, { prefetch })
      const loop = async () => {
        for await (const _item of list) await manyTurns()
      }
      await expect(loop()).rejects.toMatchObject({ status: failure.status })
      expect(fetch.requests).toHaveLength(3)
    }
  })
})
