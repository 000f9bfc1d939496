import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { brokenConnection, json, makeClient, page, refusal, scripted } from '../helpers/client.ts'
import { countingSignal } from '../helpers/counting-signal.ts'
import { type RawRequest, type RawServer, respond, respondJson, startRawServer } from '../helpers/raw-server.ts'

/** Which page a request asks for, from 1. */
const numberOf = (request: RawRequest) => Number(new URLSearchParams(request.target.split('?')[1]).get('after') ?? 1)

/** A server of five pages of two items, which answers a page when it is told to. */
async function startBook(hold: (number: number) => boolean = () => false, failing?: number) {
  const held = new Map<number, () => void>()
  let whenAsked: (() => void)[] = []
  const server = await startRawServer({
    onRequest(request) {
      const number = numberOf(request)
      const reply = () =>
        number === failing
          ? respond(request, { status: 403, body: '{"error":"forbidden"}' })
          : respondJson(
              request,
              page([{ id: `${number}a` }, { id: `${number}b` }], number < 5 ? String(number + 1) : null),
            )
      if (hold(number)) held.set(number, reply)
      else reply()
      for (const resolve of whenAsked) resolve()
      whenAsked = []
    },
  })
  return {
    server,
    asked: () => server.requests.map(numberOf),
    release: (number: number) => held.get(number)?.(),
    /** Resolves once so many requests were received. */
    async requests(count: number) {
      while (server.requests.length < count) await new Promise<void>((resolve) => whenAsked.push(resolve))
    },
  }
}

const client = (server: RawServer) => makeClient({ baseUrl: server.url })

/** Long enough for a request that should not be there to arrive: many turns of this process's own event loop. */
async function manyTurns(): Promise<void> {
  for (let count = 0; count < 200; count += 1) await turn()
}

describe('the page ahead', () => {
  test('is asked for while the caller works, from the second page on, and never two ahead', async () => {
    const { server, asked, requests } = await startBook()
    await using _ = server
    const expected = [1, 3, 4, 5, 5]
    let number = 0
    for await (const { data } of client(server).conversations.list().pages()) {
      number += 1
      expect(data[0]?.id).toBe(`${number}a`)
      await requests(expected[number - 1] ?? 0)
      await manyTurns()
      expect(asked()).toEqual([1, 2, 3, 4, 5].slice(0, expected[number - 1]))
    }
    expect(number).toBe(5)
  })

  test('is asked for before the items of this one are used up', async () => {
    const { server, requests } = await startBook()
    await using _ = server
    for await (const { id } of client(server).conversations.list()) {
      if (id === '2a') await requests(3)
    }
    expect(server.requests).toHaveLength(5)
  })

  test('is not asked for with prefetch: false', async () => {
    const { server, asked } = await startBook()
    await using _ = server
    let number = 0
    for await (const _page of client(server).conversations.list({}, { prefetch: false }).pages()) {
      number += 1
      await manyTurns()
      expect(asked()).toHaveLength(number)
    }
    expect(number).toBe(5)
  })

  test('is not asked for beyond maxItems', async () => {
    const { server, asked } = await startBook()
    await using _ = server
    for await (const _item of client(server).conversations.list({}, { maxItems: 4 })) await manyTurns()
    expect(asked()).toEqual([1, 2])
  })

  test('is given up when the caller leaves the loop: the server sees its connection close', async () => {
    const { server, requests } = await startBook((number) => number === 3)
    await using _ = server
    for await (const { id } of client(server).conversations.list()) {
      if (id !== '2b') continue
      await requests(3)
      break
    }
    const [request] = server.requests.filter((each) => numberOf(each) === 3)
    if (!request?.socket.closed) await new Promise((resolve) => request?.socket.once('close', resolve))
    expect(server.requests).toHaveLength(3)
  })

  test('is given up when the caller throws out of the loop', async () => {
    const { server, requests } = await startBook((number) => number === 3)
    await using _ = server
    const loop = async () => {
      for await (const { id } of client(server).conversations.list()) {
        if (id !== '2a') continue
        await requests(3)
        throw new Error('my own')
      }
    }
    await expect(loop()).rejects.toThrow('my own')
    const [request] = server.requests.filter((each) => numberOf(each) === 3)
    if (!request?.socket.closed) await new Promise((resolve) => request?.socket.once('close', resolve))
  })

  test('tells its error only when it is reached, and never as an unhandled rejection', async () => {
    const { server, requests } = await startBook(() => false, 3)
    await using _ = server
    const unhandled: unknown[] = []
    const hear = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', hear)
    try {
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
      // Nor when it is never reached.
      for await (const { id } of client(server).conversations.list()) {
        if (id !== '2a') continue
        await requests(6)
        await manyTurns()
        break
      }
      await manyTurns()
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', hear)
    }
  })

  test('ends with the signal of the caller, whose reason comes out', async () => {
    const { server, requests } = await startBook((number) => number === 3)
    await using _ = server
    const controller = new AbortController()
    const reason = { why: 'closing time' }
    const loop = async () => {
      for await (const { id } of client(server).conversations.list({}, { signal: controller.signal })) {
        if (id !== '2b') continue
        await requests(3)
        queueMicrotask(() => controller.abort(reason))
      }
    }
    await expect(loop()).rejects.toBe(reason)
  })

  /** A list of five pages. The first request of page 3 fails. */
  function bookThatFailsOnce(failure: Response | Error) {
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
    const fetch = bookThatFailsOnce(failure)
    const seen: string[] = []
    for await (const { id } of makeClient({ fetch, maxRetries: 0 }).conversations.list()) {
      await manyTurns()
      seen.push(id)
    }
    expect(seen).toEqual(['1a', '2a', '3a', '4a', '5a'])
    expect(fetch.requests).toHaveLength(6)
  })

  test('is not fetched again after a failure that would come again, nor without prefetch', async () => {
    for (const [failure, prefetch] of [
      [refusal(403, 'forbidden'), true],
      [refusal(503, 'busy'), false],
    ] as const) {
      const fetch = bookThatFailsOnce(failure)
      const list = makeClient({ fetch, maxRetries: 0 }).conversations.list({}, { prefetch })
      await expect(list.toArray()).rejects.toMatchObject({ status: failure.status })
      expect(fetch.requests).toHaveLength(3)
    }
  })

  test('leaves no listener on the signal once it has come, also when the loop is never resumed', async () => {
    const { server, requests, release } = await startBook((number) => number === 3)
    await using _ = server
    const counting = countingSignal()
    const pages = client(server).conversations.list({}, { signal: counting.signal }).pages()
    await pages.next()
    expect(counting.listeners).toBe(0)
    await pages.next()
    await requests(3)
    expect(counting.listeners).toBe(1)
    release(3)
    // The generator is neither resumed nor closed.
    for (let count = 0; counting.listeners > 0 && count < 5_000; count += 1) await turn()
    expect(counting.listeners).toBe(0)
  })
})
