import {
  type Actor,
  type ClientOptions,
  InvalidArgumentError,
  SupportWorkspace,
  schemas,
  type WebFetch,
} from 'support-workspace-sdk'
import { expect, onTestFinished, vi } from 'vitest'

// The first write loads the schemas, which fake timers do not wait for.
await schemas.user['~standard'].validate({})

/** The token of the clients under test. Long and unique, so that tests can search for it. */
export const token = 'swot_Zx81mQ7-secret_9rT4vB2nK6'

/** Creates a client with defaults for every option that the test does not set. */
export function makeClient<const A extends Actor = 'self'>(
  options: Partial<ClientOptions<A>> = {},
): SupportWorkspace<A> {
  return new SupportWorkspace<Actor>({
    baseUrl: 'https://api.test',
    accessToken: token,
    actor: 'self',
    ...options,
  }) as SupportWorkspace<A>
}

/** One step of a scripted fetch: a response, an error to throw, or a function of the request. */
export type Step = Response | Error | ((request: Request) => Response | Promise<Response>)

/** A fetch that runs its steps in order, repeats the last one, and records the requests. */
export interface ScriptedFetch extends WebFetch {
  readonly requests: Request[]
  /** Returns the query of each request, with its question mark. */
  queries(): string[]
}

/** Creates a `fetch` from a function of a `Request`. */
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
  return Object.assign(fetch, { requests, queries: () => requests.map(({ url }) => new URL(url).search) })
}

/** Replaces the platform's fetch, as if the runtime shipped with the replacement. Restored after the test. */
export function stubPlatformFetch(fetch: object): void {
  vi.stubGlobal('fetch', fetch)
  onTestFinished(() => void vi.unstubAllGlobals())
}

/** Returns a promise that never settles. */
export function neverSettles(): Promise<never> {
  return new Promise(() => {})
}

/** A scripted fetch that replaces the platform's, whose errors prove whether a connection opened. Restored after the test. */
export function scriptedPlatform(...steps: Step[]): ScriptedFetch {
  const fetch = scripted(...steps)
  stubPlatformFetch(fetch)
  return fetch
}

/** Returns a response with a JSON body. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(value, { status, headers })
}

/** Returns an error response in the documented shape. */
export function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return json({ error, error_description: `It was ${error}.` }, status, headers)
}

/** Returns the body of a page in the documented shape. */
export function page(data: unknown[], after?: string | null, before?: string | null): unknown {
  return { data, page_metadata: { after: after ?? null, before: before ?? null } }
}

/** Returns the reason a promise rejects with. Throws when it resolves. */
export async function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('The promise did not reject.')
}

/** Makes a call that must reject with an `InvalidArgumentError` before a request is sent. Returns the error. */
export async function invalidArgument(call: (client: SupportWorkspace<'self'>) => PromiseLike<unknown>) {
  const fetch = scripted(json({}))
  const error = await rejection(call(makeClient({ fetch })))
  expect(error).toBeInstanceOf(InvalidArgumentError)
  expect(fetch.requests).toEqual([])
  return error as InvalidArgumentError
}

/** The error that Node's fetch throws for a refused connection. */
export function refusedConnection(): TypeError {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  })
  return new TypeError('fetch failed', { cause })
}

/** The error that Node's fetch throws when the connection breaks after the request was sent. */
export function brokenConnection(): TypeError {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })
}
