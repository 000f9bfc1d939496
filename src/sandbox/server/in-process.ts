import { firstHalf, type ResponseOrDrop } from '../faults/apply-fault.ts'
import type { RequestHandler } from './handle-request.ts'

/** The service as a function with the shape of `fetch`, with no socket in between. */
export type SandboxFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

export function createSandboxFetch(receive: RequestHandler): SandboxFetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const response = await unlessAborted(request.signal, async () => toResponse(await receive(request), request.signal))
    if (request.redirect === 'error' && isRedirect(response)) throw fetchError('unexpected redirect')
    return response
  }
}

function toResponse(outcome: ResponseOrDrop, signal: AbortSignal): Response {
  if (outcome.kind === 'response') return readUntil(signal, outcome.response)
  if (outcome.at !== 'mid-body') throw fetchError('other side closed')
  const half = firstHalf(outcome.body)
  const body = new ReadableStream(
    {
      start: (controller) => controller.enqueue(half),
      pull: (controller) => controller.error(new TypeError('terminated', { cause: socketError('other side closed') })),
    },
    { highWaterMark: 0 },
  )
  // The promised length is that of the whole body, as over a socket; msw too goes by it.
  outcome.response.headers.set('content-length', String(outcome.body.length))
  return new Response(body, outcome.response)
}

// Giving up ends the reading of a body too, as it does with a socket.
function readUntil(signal: AbortSignal, response: Response): Response {
  if (response.body === null) return response
  return new Response(response.body.pipeThrough(new TransformStream(), { signal }), response)
}

async function unlessAborted(signal: AbortSignal, answer: () => Promise<Response>): Promise<Response> {
  signal.throwIfAborted()
  let onAbort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([aborted, answer()])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function isRedirect({ status }: Response): boolean {
  return [301, 302, 303, 307, 308].includes(status)
}

// The same words and the same code as Node's own fetch, for programs that look at them.
function fetchError(reason: string): TypeError {
  return new TypeError('fetch failed', { cause: socketError(reason) })
}

function socketError(reason: string): Error {
  return Object.assign(new Error(reason), { code: 'UND_ERR_SOCKET' })
}

/** msw request handlers that answer everything below `baseUrl` from the sandbox. */
export async function createMswHandlers<Handler>(answer: SandboxFetch, baseUrl: string): Promise<Handler[]> {
  const { http } = await loadMsw()
  const handler = http.all(`${baseUrl.replace(/\/+$/, '')}/*`, async ({ request }) => {
    try {
      return await answer(request.clone())
    } catch {
      // msw turns what a handler throws into a status 500; this is how it is told of a connection that broke.
      return Response.error()
    }
  })
  return [handler as Handler]
}

async function loadMsw(): Promise<typeof import('msw')> {
  try {
    return await import('msw')
  } catch (cause) {
    throw new Error(
      '`sandbox.handlers()` needs the package msw, which is not installed: `npm install --save-dev msw`.',
      {
        cause,
      },
    )
  }
}
