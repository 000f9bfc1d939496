import { type Actor, type ClientOptions, SupportWorkspace, type WebFetch } from 'support-workspace-sdk'
import { onTestFinished, vi } from 'vitest'
import { platform } from '../../src/http/connect-error.ts'

/** The token of the clients under test. Long and unlike anything else, so that it can be searched for. */
export const token = 'swot_Zx81mQ7-secret_9rT4vB2nK6'

/** A client that needs only what the test is about. */
export function makeClient<const A extends Actor = 'self'>(
  options: Partial<ClientOptions<A>> = {},
): SupportWorkspace<A> {
  return new SupportWorkspace<A>({
    baseUrl: 'https://api.test',
    accessToken: token,
    actor: 'self' as A,
    ...options,
  })
}

/** One step of a scripted fetch: an answer, something to throw, or a function of the request. */
export type Step = Response | Error | ((request: Request) => Response | Promise<Response>)

/** A fetch that goes through its steps, repeating the last one, and keeps the requests. */
export interface ScriptedFetch extends WebFetch {
  readonly requests: Request[]
}

/** A `fetch` made of a function of a whole `Request`. */
export function fromRequest(handle: (request: Request) => Promise<Response>): WebFetch {
  return (url, init) => handle(new Request(url, init as RequestInit))
}

export function scripted(...steps: Step[]): ScriptedFetch {
  const requests: Request[] = []
  const fetch = fromRequest(async (request) => {
    const step = steps[Math.min(requests.length, steps.length - 1)]
    requests.push(request.clone())
    if (step === undefined) throw new TypeError('nothing scripted')
    if (step instanceof Error) throw step
    return typeof step === 'function' ? step(request) : step.clone()
  })
  return Object.assign(fetch, { requests })
}

/** Puts a fetch in place of the platform's own, as if the platform had come with it. Undone after the test. */
export function stubPlatformFetch(fetch: unknown): void {
  vi.stubGlobal('fetch', fetch)
  const own = platform.fetch
  Object.assign(platform, { fetch })
  onTestFinished(() => {
    vi.unstubAllGlobals()
    Object.assign(platform, { fetch: own })
  })
}

/** The same in place of the platform's own `fetch`, whose errors prove whether a connection opened. Undone after the test. */
export function scriptedPlatform(...steps: Step[]): ScriptedFetch {
  const fetch = scripted(...steps)
  stubPlatformFetch(fetch)
  return fetch
}

/** A response with a JSON body. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(value, { status, headers })
}

/** An error in the documented shape. */
export function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return json({ error, error_description: `It was ${error}.` }, status, headers)
}

/** A page in the documented shape. */
export function page(data: unknown[], after?: string | null, before?: string | null): unknown {
  return { data, page_metadata: { after: after ?? null, before: before ?? null } }
}

/** What a promise rejects with. */
export async function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('It did not reject.')
}

/** The error of a connection that was refused, as Node's fetch gives it. */
export function refusedConnection(): TypeError {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  })
  return new TypeError('fetch failed', { cause })
}

/** The error of a connection that broke after the request was sent, as Node's fetch gives it. */
export function brokenConnection(): TypeError {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })
}
