// src/sandbox/faults holds the faults that a test injects. It knows responses but not the service.

import type { Context, MiddlewareHandler } from 'hono'
import { randomFrom } from '../../shared/random.ts'
import type { AppEnv, Drop } from '../app-env.ts'
import { checkRule, type Fault, type FaultRule, type Faults } from './fault.ts'
import { describeFault } from './fault-text.ts'

/** Replaces, damages, delays or drops the responses to which a fault applies. */
export function injectFaults(faults: FaultList, delays: Delays): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { request } = c.get('entry')
    const fault = faults.take(request.method, request.path)
    if (fault === undefined) return next()
    request.fault = describeFault(fault)
    const { status, effect, drop, garbage, latency, lateEffect, onDrop } = fault
    if (drop === 'before-effect' || drop === 'refused') c.res = new Response(null)
    else if (status === undefined || effect) await next()
    if (status !== undefined) replaceResponse(c, statusResponse({ ...fault, status }))
    if (garbage)
      replaceResponse(c, new Response(garbagePage, { headers: { 'content-type': 'text/html; charset=utf-8' } }))
    await delays.wait(latency)
    // An error of a late effect is ignored, because the response was already sent.
    if (lateEffect !== undefined) delays.wait(lateEffect).then(next, () => {})
    // In a microtask, an error that the function throws cannot break the response.
    if (onDrop !== undefined) queueMicrotask(onDrop)
    if (drop !== undefined) c.env.drop = dropOf(drop, c.res)
    else await damageBody(c, fault, delays)
  }
}

/** The active rules, each with the number of requests that it still skips and applies to. */
export class FaultList implements Faults {
  /** In the order in which they apply. */
  readonly #rules = new Set<ActiveRule>()

  get pending(): number {
    return this.#rules.size
  }

  add(rule: FaultRule): () => void {
    checkRule(rule)
    const { after: skips = 0, times = 1, seed = 1 } = rule
    const active = { rule, skips, times, random: randomFrom(seed) }
    this.#rules.add(active)
    return () => void this.#rules.delete(active)
  }

  clear(): void {
    this.#rules.clear()
  }

  /** Returns the fault that applies to a request and counts the request. */
  take(method: string, pathname: string): Fault | undefined {
    for (const active of this.#rules) {
      if (!matches(active.rule, method, pathname)) continue
      if (active.skips > 0) {
        active.skips -= 1
        continue
      }
      if (active.random() >= (active.rule.probability ?? 1)) continue
      active.times -= 1
      if (active.times <= 0) this.#rules.delete(active)
      return active.rule
    }
    return undefined
  }
}

interface ActiveRule {
  rule: FaultRule
  /** Number of matching requests that it still lets through. */
  skips: number
  /** Number of requests that it still applies to. */
  times: number
  random: () => number
}

function matches({ method, path }: FaultRule, actualMethod: string, pathname: string): boolean {
  if (method === undefined ? actualMethod === 'OPTIONS' : method.toUpperCase() !== actualMethod) return false
  if (path === undefined) return true
  // Unlike `test`, `search` ignores the `lastIndex` of an expression with the flag `g` or `y`.
  return typeof path === 'string' ? pathname.endsWith(path) : pathname.search(path) !== -1
}

/** Delays that end early when the sandbox closes, so that no timer keeps the process alive. */
export class Delays {
  readonly #pending = new Set<() => void>()
  #isEnded = false

  wait(milliseconds: number | undefined): Promise<void> {
    if (milliseconds === undefined || this.#isEnded) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => finish(), milliseconds)
      const finish = (): void => {
        clearTimeout(timer)
        this.#pending.delete(finish)
        resolve()
      }
      this.#pending.add(finish)
    })
  }

  endAll(): void {
    // A dripping body would wait again for its next chunk.
    this.#isEnded = true
    for (const finish of this.#pending) finish()
  }
}

function statusResponse(fault: Fault & { status: number }): Response {
  const { status, retryAfter } = fault
  const headers = new Headers(fault.headers)
  if (retryAfter !== undefined) {
    headers.set('retry-after', retryAfter instanceof Date ? retryAfter.toUTCString() : String(retryAfter))
  }
  const body = fault.body === undefined ? defaultBody(status) : fault.body
  if (body === null || [204, 205, 304].includes(status)) return new Response(null, { status, headers })
  return typeof body === 'string' ? new Response(body, { status, headers }) : Response.json(body, { status, headers })
}

function defaultBody(status: number): { error: string; error_description: string } {
  const codes: Record<number, string> = {
    400: 'invalid_request',
    401: 'invalid_token',
    403: 'forbidden',
    404: 'not_found',
    422: 'validation_failed',
    429: 'rate_limited',
  }
  return { error: codes[status] ?? 'server_error', error_description: 'The sandbox injected this error.' }
}

const garbagePage = `<!doctype html>
<html lang="en"><head><title>Sign in</title></head><body><h1>Please sign in to the network</h1></body></html>
`

/** Replaces the response, but keeps the CORS headers. Hono adds every header of the response that it replaces. */
function replaceResponse(c: Context<AppEnv>, response: Response): void {
  for (const name of [...c.res.headers.keys()]) {
    if (!name.startsWith('access-control-')) c.res.headers.delete(name)
  }
  c.res = response
}

function dropOf(drop: NonNullable<Fault['drop']>, response: Response): Drop {
  if (drop === 'before-effect' || drop === 'after-effect') return 'before-headers'
  return drop === 'mid-body' && response.body === null ? 'before-headers' : drop
}

async function damageBody(c: Context<AppEnv>, { truncate, drip, stall }: Fault, delays: Delays): Promise<void> {
  if (c.res.body === null || (!truncate && !stall && drip === undefined)) return
  const body = new Uint8Array(await c.res.arrayBuffer())
  const half = firstHalf(body)
  // A stream that is never closed.
  const stalled = (): ReadableStream => new ReadableStream({ start: (controller) => controller.enqueue(half) })
  c.res = new Response(drip !== undefined ? dripStream(body, drip, delays) : stall ? stalled() : half, c.res)
}

export function firstHalf(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return body.subarray(0, Math.floor(body.length / 2))
}

function dripStream(body: Uint8Array, { bytes, interval }: NonNullable<Fault['drip']>, delays: Delays): ReadableStream {
  let sent = 0
  return new ReadableStream({
    async pull(controller) {
      if (sent > 0) await delays.wait(interval)
      controller.enqueue(body.slice(sent, sent + bytes))
      sent += bytes
      if (sent >= body.length) controller.close()
    },
  })
}
