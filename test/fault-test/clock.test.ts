import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as namedImmediate, setTimeout as namedTimeout } from 'node:timers'
import { setInterval as everySecond, setImmediate as immediate, setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { gzip } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type FaultTestWorld, faultTest } from '../../src/fault-test/index.ts'

const hour = 3_600_000
const oneFault = { only: ['rate-limited@1'] }

afterEach(() => void vi.restoreAllMocks())

/** Runs a function as a job, after a request that every job must send. Returns what the function returned in the runs without a fault. */
async function runAsJob<Value>(run: () => Promise<Value>): Promise<Value[]> {
  const values: Value[] = []
  await faultTest(async ({ workspace }: FaultTestWorld) => {
    await workspace.me()
    values.push(await run())
  }, oneFault)
  return values.slice(0, 2)
}

test.each<[name: string, pass: () => Promise<unknown>]>([
  ['setTimeout', () => new Promise((resolve) => setTimeout(resolve, hour))],
  ['setTimeout imported by name', () => new Promise((resolve) => namedTimeout(resolve, hour))],
  ['setTimeout of node:timers/promises', () => wait(hour)],
  ['AbortSignal.timeout', () => new Promise((resolve) => AbortSignal.timeout(hour).addEventListener('abort', resolve))],
  [
    'setInterval',
    () =>
      new Promise<void>((resolve) => {
        let count = 0
        const timer = setInterval(() => {
          count += 1
          if (count < 3_600) return
          clearInterval(timer)
          resolve()
        }, 1_000)
      }),
  ],
  [
    'setInterval of node:timers/promises',
    async () => {
      let count = 0
      for await (const _ of everySecond(1_000)) if (++count === 3_600) break
    },
  ],
])('an hour passes at once with %s', async (_, pass) => {
  const realStart = Date.now()
  const measure = async () => {
    const [date, monotonic] = [Date.now(), performance.now()]
    await pass()
    return [Date.now() - date, Date.parse(new Date().toISOString()) - date, Math.round(performance.now() - monotonic)]
  }
  expect(await runAsJob(measure)).toEqual([
    [hour, hour, hour],
    [hour, hour, hour],
  ])
  expect(Date.now() - realStart).toBeLessThan(hour)
})
test('a timer can be cleared, refreshed and aborted', async () => {
  const [fired] = await runAsJob(async () => {
    const fired: string[] = []
    clearTimeout(setTimeout(() => fired.push('cleared'), 10))
    const refreshed = setTimeout(() => fired.push(`refreshed after ${Date.now() - start}`), 20)
    const start = Date.now()
    await wait(10)
    refreshed.refresh()
    await wait(100)
    const error = await wait(10, undefined, { signal: AbortSignal.timeout(5) }).catch((thrown: Error) => thrown)
    return [...fired, error?.name]
  })
  expect(fired).toEqual(['refreshed after 30', 'AbortError'])
})

// A busy machine may leave a server waiting for longer than a silent connection is waited for.
describe('what is under way is awaited before a timer fires:', { retry: 3 }, () => {
  const large = new Uint8Array(20_000_000)
  test.each<[name: string, run: () => unknown]>([
    ['a large digest', () => crypto.subtle.digest('SHA-256', large)],
    ['compression', () => promisify(gzip)(large)],
    ['a file', () => readFile(import.meta.filename)],
    ['a child process', () => promisify(execFile)(process.execPath, ['--version'])],
    ['a worker', () => once(new Worker('setTimeout(() => {}, 100)', { eval: true }), 'exit')],
    ['a real request', readFromServer],
    ['nested promises', () => nest(10_000)],
  ])('%s', async (_, run) => {
    const race = async () => Promise.race([Promise.resolve(run()).then(() => 'input'), wait(hour, 'timer')])
    expect(await runAsJob(race)).toEqual(['input', 'input'])
  })

  async function readFromServer() {
    const server = createServer((_, response) => response.end('Here')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const [response] = await once(get({ port: (server.address() as AddressInfo).port, agent: false }), 'response')
    await once(response.resume(), 'end')
    server.close()
  }

  async function nest(depth: number): Promise<void> {
    if (depth > 0) await Promise.resolve().then(() => nest(depth - 1))
  }
})

test('a loop that waits for a time ends', async () => {
  const spin = async () => {
    const end = Date.now() + 5_000
    while (Date.now() < end);
    return Date.now() >= end
  }
  expect(await runAsJob(spin)).toEqual([true, true])
})

test('random numbers repeat in the next fault test', async () => {
  const draw = () => runAsJob(async () => [Math.random(), Math.random()])
  const [first, second] = await Promise.all([draw(), draw()])
  expect(first).toEqual(second)
  expect(first[0]).not.toEqual(first[1])
})

test.each<[name: string, pass: () => Promise<unknown>]>([
  ['setImmediate', () => new Promise((resolve) => setImmediate(resolve))],
  ['setImmediate imported by name', () => new Promise((resolve) => namedImmediate(resolve))],
  ['setImmediate of node:timers/promises', () => immediate()],
])('a loop of %s ends with the job that it keeps from ending', async (_, pass) => {
  let [uptime, turns] = [0, 0]
  // 10 real milliseconds pass between any two looks at the time.
  vi.spyOn(process, 'uptime').mockImplementation(() => {
    uptime += 0.01
    return uptime
  })
  const loop = async () => {
    for (; ; turns += 1) await pass()
  }
  const options = { only: ['unavailable@1'], client: { maxRetries: 0 } }
  const { runs } = await faultTest(({ workspace }) => workspace.me().catch(loop), options)
  const end = 'was stopped after waiting for real input or output (Immediate) for more than 2 seconds'
  expect(runs.map(({ attempts }) => attempts)).toEqual([[end]])
  const turnsOfRun = turns
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  expect(turns).toBe(turnsOfRun)
})
test('time is real outside the job, and the globals are restored afterwards', async () => {
  const globals = () => [setTimeout, clearInterval, Date, performance.now, Math.random, AbortSignal.timeout]
  const before = globals()
  let outside = 0
  const setup = () => {
    outside = Date.now()
  }
  await faultTest(({ workspace }) => workspace.me().then(() => wait(hour)), { ...oneFault, setup })
  expect(Math.abs(Date.now() - outside)).toBeLessThan(hour)
  expect(globals()).toEqual(before)
})

test('a fault test runs while the fake timers of vitest are on', async () => {
  vi.useFakeTimers()
  try {
    expect(await runAsJob(() => wait(hour, 'passed'))).toEqual(['passed', 'passed'])
  } finally {
    vi.useRealTimers()
  }
})
