// src/sandbox/faults holds the faults that a test injects. It knows responses but not the service, and must not import
// the rest of the sandbox, except check-values.ts.

import type { Fault } from './fault.ts'

/** What a client receives: a response, or a connection that is dropped. */
export type ResponseOrDrop =
  | { kind: 'response'; response: Response }
  | { kind: 'drop'; at: 'before-headers' }
  | { kind: 'drop'; at: 'mid-headers' }
  | { kind: 'drop'; at: 'mid-body'; response: Response; body: Uint8Array<ArrayBuffer> }

/** Returns the response of a fault that has a status. */
export function statusResponse(fault: Fault & { status: number }): Response {
  const headers = new Headers(fault.headers)
  if (fault.retryAfter !== undefined) headers.set('retry-after', retryAfterText(fault.retryAfter))
  const body = fault.body === undefined ? defaultBody(fault.status) : fault.body
  if (body === null || [204, 205, 304].includes(fault.status))
    return new Response(null, { status: fault.status, headers })
  if (typeof body === 'string') return new Response(body, { status: fault.status, headers })
  return Response.json(body, { status: fault.status, headers })
}

/** Returns what a client receives instead of this response. Without a fault that is the response itself. */
export async function applyFault(response: Response, fault: Fault): Promise<ResponseOrDrop> {
  const { status, headers } = response
  if (fault.garbage) {
    const page = new Response(garbagePage, { headers: { 'content-type': 'text/html; charset=utf-8' } })
    return { kind: 'response', response: page }
  }
  if (fault.drop === 'before-effect' || fault.drop === 'after-effect') return { kind: 'drop', at: 'before-headers' }
  if (fault.drop === 'mid-headers') return { kind: 'drop', at: 'mid-headers' }
  if (response.body === null) {
    return fault.drop === 'mid-body' ? { kind: 'drop', at: 'before-headers' } : { kind: 'response', response }
  }
  if (fault.drop === undefined && !fault.truncate && fault.drip === undefined) return { kind: 'response', response }

  const body = new Uint8Array(await response.arrayBuffer())
  if (fault.drop === 'mid-body') return { kind: 'drop', at: 'mid-body', response: new Response(null, response), body }
  const damagedBody = fault.drip === undefined ? firstHalf(body) : dripStream(body, fault.drip)
  return { kind: 'response', response: new Response(damagedBody, { status, headers }) }
}

export function firstHalf(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return body.subarray(0, Math.floor(body.length / 2))
}

const garbagePage = `<!doctype html>
<html lang="en"><head><title>Sign in</title></head><body><h1>Please sign in to the network</h1></body></html>
`

function retryAfterText(retryAfter: number | Date | string): string {
  return retryAfter instanceof Date ? retryAfter.toUTCString() : String(retryAfter)
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

function dripStream(body: Uint8Array, { bytes, interval }: { bytes: number; interval: number }): ReadableStream {
  let sent = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  return new ReadableStream({
    async pull(controller) {
      if (sent > 0) {
        await new Promise<void>((resolve) => {
          timer = setTimeout(resolve, interval)
        })
      }
      controller.enqueue(body.slice(sent, sent + bytes))
      sent += bytes
      if (sent >= body.length) controller.close()
    },
    cancel() {
      clearTimeout(timer)
    },
  })
}
