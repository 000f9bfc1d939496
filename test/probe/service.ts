import type { WebFetch } from 'support-workspace-sdk'
import { type ProbeFindings, probe } from 'support-workspace-sdk/probe'
import { createSandbox, type SandboxOptions } from 'support-workspace-sdk/sandbox'

export const v1 = '/api/oauth/v1'

/** A request on its way to the sandbox. */
export interface Asked {
  readonly url: URL
  /** Path below the API's prefix. */
  readonly path: string
  readonly headers: Headers
}

/** How a service differs from the sandbox. */
export interface Difference {
  readonly options?: SandboxOptions
  /** Changes the request, or answers it. */
  readonly request?: (asked: Asked) => Response | undefined
  /** Returns another response. */
  readonly response?: (response: Response, asked: Asked) => Response | Promise<Response>
}

/** Probes a sandbox that differs. Pauses take no time, and are counted. */
export async function probeService({ options, request, response }: Difference = {}) {
  const sandbox = createSandbox(options)
  const pauses: number[] = []
  const sent: { readonly method: string; readonly url: URL }[] = []
  const fetch: WebFetch = async (text, { method, headers }) => {
    const url = new URL(text)
    const asked = { url, path: url.pathname.slice(v1.length), headers: new Headers(headers) }
    sent.push({ method, url: new URL(text) })
    const answered = request?.(asked)
    if (answered !== undefined) return answered
    const received = await sandbox.fetch(url.href, { method, headers: asked.headers })
    return response === undefined ? received : response(received, asked)
  }
  const findings = await probe({
    baseUrl: sandbox.url,
    accessToken: sandbox.issueToken({ actor: 'self' }),
    confirmed: true,
    fetch,
    wait: async (milliseconds) => void pauses.push(milliseconds),
  })
  return { findings, sandbox, sent, pauses }
}

/** Returns what a probe found of a trait, or undefined if it is undetermined. */
export function foundIn({ evidence }: ProbeFindings, trait: string): string | undefined {
  return Object.keys(evidence.traits[trait] ?? {})[0]
}

export function unknownPath(): Response {
  return Response.json({ error: 'not_found', error_description: 'There is no such path.' }, { status: 404 })
}

/** Answers some paths with a status, as the sandbox answers a path that does not exist by default. */
export const without =
  (paths: RegExp, status = 404): NonNullable<Difference['request']> =>
  ({ path }) => {
    if (!paths.test(path)) return undefined
    return status === 404 ? unknownPath() : Response.json({ error: 'forbidden' }, { status })
  }

/** Changes the query of requests. */
export const query =
  (change: (query: URLSearchParams, path: string) => void): NonNullable<Difference['request']> =>
  ({ url, path }) => {
    change(url.searchParams, path)
    return undefined
  }

// biome-ignore lint/suspicious/noExplicitAny: bodies of the sandbox, which the changes know
type Body = any

/** Changes the JSON bodies of successful responses of some paths. */
export const body =
  (paths: RegExp, change: (body: Body, asked: Asked) => Body): NonNullable<Difference['response']> =>
  async (response, asked) => {
    if (!paths.test(asked.path) || response.status !== 200) return response
    return Response.json(change(await response.json(), asked), { headers: response.headers })
  }

/** Sets headers of every response. `undefined` removes one. */
export const headers =
  (change: (asked: Asked) => Readonly<Record<string, string | undefined>>): NonNullable<Difference['response']> =>
  (response, asked) => {
    const next = new Headers(response.headers)
    for (const [name, value] of Object.entries(change(asked))) {
      if (value === undefined) next.delete(name)
      else next.set(name, value)
    }
    return new Response(response.body, { status: response.status, headers: next })
  }
