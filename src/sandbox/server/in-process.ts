import { createRequire } from 'node:module'
import type { Hono } from 'hono'
import type { AppEnv, Drop } from '../app-env.ts'
import { textThat } from '../checks.ts'
import { firstHalf } from '../faults/inject-faults.ts'

export type SandboxFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Returns a function with the signature of `fetch` that calls the service at this URL without a socket. */
export function createSandboxFetch(app: Hono<AppEnv>, baseUrl: string): SandboxFetch {
  const { origin: ownOrigin } = new URL(baseUrl)
  return async (input, init) => {
    const request = new Request(input, init)
    const { signal } = request
    signal.throwIfAborted()
    const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const env: AppEnv['Bindings'] = { isOwnOrigin: (origin) => origin === ownOrigin }
    const whole = await Promise.race([aborted, app.fetch(request, env)])
    const response = env.drop === undefined ? abortableResponse(whole, signal) : await cutResponse(whole, env.drop)
    if (request.redirect === 'error' && redirects.includes(response.status)) throw fetchError('unexpected redirect')
    return response
  }
}

const redirects = [301, 302, 303, 307, 308]

const checkBaseUrl = textThat('an absolute URL, such as "https://service.example"', (url) => URL.canParse(url))

/** Returns msw request handlers that respond to every request below `baseUrl` from the sandbox. */
export function createMswHandlers<Handler>(app: Hono<AppEnv>, baseUrl: string): Handler[] {
  checkBaseUrl('baseUrl', baseUrl)
  const { http } = loadMsw()
  const fetch = createSandboxFetch(app, baseUrl)
  const handler = http.all(`${baseUrl.replace(/\/+$/, '')}/*`, async ({ request }) => {
    try {
      return await fetch(request.clone())
    } catch {
      // If a handler throws, msw responds with status 500. An error response makes it report a network error.
      return Response.error()
    }
  })
  return [handler as Handler]
}

// Loads msw without `await`, so that the handlers can be spread into `setupServer`. `require` returns the same modules
// as `import`: msw 3 has only ES modules, and msw 2 has an export condition for it.
function loadMsw(): typeof import('msw') {
  try {
    return createRequire(import.meta.filename)('msw')
  } catch (cause) {
    throw new Error('`sandbox.handlers()` requires msw, which cannot be loaded. Run `npm install --save-dev msw`.', {
      cause,
    })
  }
}

async function cutResponse(response: Response, drop: Drop): Promise<Response> {
  if (drop === 'refused') {
    const refused = fetchError('connect ECONNREFUSED 127.0.0.1:80', { code: 'ECONNREFUSED', syscall: 'connect' })
    throw Object.assign(refused, { outcome: 'not-sent' })
  }
  if (drop !== 'mid-body') throw fetchError('other side closed')
  const whole = new Uint8Array(await response.arrayBuffer())
  const body = new ReadableStream(
    {
      start: (controller) => controller.enqueue(firstHalf(whole)),
      pull: (controller) => controller.error(fetchError('other side closed', socketCause, 'terminated')),
    },
    { highWaterMark: 0 },
  )
  // As over a socket, the header states the length of the whole body. msw relies on it too.
  response.headers.set('content-length', String(whole.length))
  return new Response(body, response)
}

// As with a socket, aborting the request also aborts reading the body.
function abortableResponse(response: Response, signal: AbortSignal): Response {
  if (response.body === null) return response
  return new Response(response.body.pipeThrough(new TransformStream(), { signal }), response)
}

const socketCause = { code: 'UND_ERR_SOCKET' }

// Node's `fetch` has the same message and the same code of the cause, and programs can check them.
function fetchError(reason: string, cause: object = socketCause, message = 'fetch failed'): TypeError {
  return new TypeError(message, { cause: Object.assign(new Error(reason), cause) })
}
