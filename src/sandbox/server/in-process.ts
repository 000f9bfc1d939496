import { createRequire } from 'node:module'
import { checkValue, mustBe } from '../check-values.ts'
import { firstHalf, type ResponseOrDrop } from '../faults/apply-fault.ts'
import type { RequestHandler } from './handle-request.ts'

export type SandboxFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Returns a function with the signature of `fetch` that calls the service without a socket. */
export function createSandboxFetch(handleRequest: RequestHandler): SandboxFetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { signal } = request
    const response = await unlessAborted(signal, async () => toResponse(await handleRequest(request), signal))
    if (request.redirect === 'error' && isRedirect(response)) throw fetchError('unexpected redirect')
    return response
  }
}

const baseUrlCheck = mustBe(
  'an absolute URL, such as "https://service.example"',
  (value) => typeof value === 'string' && URL.canParse(value),
)

/** Returns msw request handlers that respond to every request below `baseUrl` from the sandbox. */
export function createMswHandlers<Handler>(fetch: SandboxFetch, baseUrl: string): Handler[] {
  checkValue('`baseUrl`', baseUrl, baseUrlCheck)
  const { http } = loadMsw()
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

// Loads msw without `await`, so that the handlers can be spread into `setupServer`. `require` returns the same modules as
// `import`: msw 3 has only ES modules, and msw 2 has an export condition for it.
function loadMsw(): typeof import('msw') {
  try {
    return createRequire(import.meta.filename)('msw')
  } catch (cause) {
    throw new Error('`sandbox.handlers()` requires msw, which cannot be loaded. Run `npm install --save-dev msw`.', {
      cause,
    })
  }
}

function toResponse(result: ResponseOrDrop, signal: AbortSignal): Response {
  if (result.kind === 'response') return abortableResponse(result.response, signal)
  if (result.at !== 'mid-body') throw fetchError('other side closed')
  const half = firstHalf(result.body)
  const body = new ReadableStream(
    {
      start: (controller) => controller.enqueue(half),
      pull: (controller) => controller.error(new TypeError('terminated', { cause: socketError('other side closed') })),
    },
    { highWaterMark: 0 },
  )
  // As over a socket, the header states the length of the whole body. msw relies on it too.
  result.response.headers.set('content-length', String(result.body.length))
  return new Response(body, result.response)
}

// As with a socket, aborting the request also aborts reading the body.
function abortableResponse(response: Response, signal: AbortSignal): Response {
  if (response.body === null) return response
  return new Response(response.body.pipeThrough(new TransformStream(), { signal }), response)
}

async function unlessAborted(signal: AbortSignal, respond: () => Promise<Response>): Promise<Response> {
  signal.throwIfAborted()
  let onAbort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([aborted, respond()])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function isRedirect({ status }: Response): boolean {
  return [301, 302, 303, 307, 308].includes(status)
}

// The message and the cause's code are those of Node's `fetch`, for programs that check them.
function fetchError(reason: string): TypeError {
  return new TypeError('fetch failed', { cause: socketError(reason) })
}

function socketError(reason: string): Error {
  return Object.assign(new Error(reason), { code: 'UND_ERR_SOCKET' })
}
