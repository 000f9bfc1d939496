import type { SupportWorkspace } from 'support-workspace-sdk'
import { expect, test, vi } from 'vitest'
import { json, makeClient, page } from '../helpers/client.ts'

// Counts, which are the same on every machine. Timings are the business of the benchmark.

const nothing = {
  abortControllers: 0,
  timersStarted: 0,
  timersLeft: 0,
  listenersAdded: 0,
  listenersLeft: 0,
  headers: 0,
}

/** What a call takes from the platform. Everything is counted from now on. */
function countUse() {
  const use = { ...nothing }
  const timers = new Set<unknown>()
  const { setTimeout: start, clearTimeout: stop, AbortController: Controller, Headers: PlatformHeaders } = globalThis
  const { addEventListener, removeEventListener } = EventTarget.prototype
  vi.stubGlobal('setTimeout', (...parameters: Parameters<typeof start>) => {
    const timer = start(...parameters)
    timers.add(timer)
    use.timersStarted += 1
    return timer
  })
  vi.stubGlobal('clearTimeout', (timer: ReturnType<typeof start> | undefined) => {
    timers.delete(timer)
    stop(timer)
  })
  vi.stubGlobal(
    'AbortController',
    class extends Controller {
      constructor() {
        super()
        use.abortControllers += 1
      }
    },
  )
  vi.stubGlobal(
    'Headers',
    class extends PlatformHeaders {
      constructor(init?: HeadersInit) {
        super(init)
        use.headers += 1
      }
    },
  )
  vi.spyOn(EventTarget.prototype, 'addEventListener').mockImplementation(function (this: EventTarget, ...parameters) {
    use.listenersAdded += 1
    use.listenersLeft += 1
    addEventListener.apply(this, parameters)
  })
  vi.spyOn(EventTarget.prototype, 'removeEventListener').mockImplementation(function (
    this: EventTarget,
    ...parameters
  ) {
    use.listenersLeft -= 1
    removeEventListener.apply(this, parameters)
  })
  return () => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    return { ...use, timersLeft: timers.size }
  }
}

/** The attempt has a timer, which also watches the total timeout. ky takes part only when a request is sent again. */
const once = { ...nothing, abortControllers: 1, timersStarted: 1 }

test.each<[string, (workspace: SupportWorkspace) => unknown, object]>([
  ['a list call that nobody awaits', ({ contacts }) => void contacts.list(), nothing],
  ['a page', ({ contacts }) => contacts.list(), once],
  [
    'a read with a signal',
    ({ contacts }) => contacts.list({}, { signal: AbortSignal.any([]) }),
    { ...once, listenersAdded: 1 },
  ],
  ['a read whose response is asked for', ({ contacts }) => contacts.list().withResponse(), { ...once, headers: 1 }],
  ['a read that fails', ({ members }) => members.get('1').catch(() => {}), { ...once, headers: 1 }],
  [
    'a read that fails without retries',
    ({ members }) => members.get('down', { maxRetries: 0 }).catch(() => {}),
    { ...once, headers: 1 },
  ],
  ['a write, with the check of its body', ({ contacts }) => contacts.create({ email: 'ada@example.com' }), once],
])('%s takes no more than this from the platform', async (_, call, expected) => {
  const workspace = makeClient({
    fetch: async (url, { method }) => {
      if (url.endsWith('/down')) return json({}, 503)
      return json(method === 'GET' ? page([]) : { data: { id: 'c' } })
    },
  })
  // The first write loads the schemas.
  await workspace.contacts.create({ email: 'ada@example.com' })
  const count = countUse()
  await call(workspace)
  expect(count()).toEqual(expected)
})
