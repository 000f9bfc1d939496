import type { ResponseInfo } from '../errors/index.ts'
import { withoutSecrets } from '../errors/redact.ts'
import { untilAborted } from './abort.ts'

/** Thrown by `readText` when a body is longer than it may be. */
export class BodyTooLarge extends Error {}

/** Thrown by `readText` when a body is not UTF-8. */
export class BodyNotText extends Error {}

/**
 * Reads a body to its end. The signal ends it at once, and so does a body longer than `maxBytes`; either way the
 * connection is let go.
 */
export async function readText(response: Response, maxBytes: number, signal: AbortSignal): Promise<string> {
  if (response.body === null) return ''
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await untilAborted(reader.read(), signal)
      if (done) return text + decode(decoder)
      bytes += value.byteLength
      if (bytes > maxBytes) throw new BodyTooLarge()
      text += decode(decoder, value)
    }
  } catch (error) {
    reader.cancel().catch(() => {})
    throw error
  }
}

function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
  } catch {
    throw new BodyNotText()
  }
}

/** Browsers hide a redirect that they do not follow behind status 0; a fetch of the caller's own may have followed one. */
export function isRedirect(response: Response): boolean {
  return response.redirected || response.type === 'opaqueredirect' || redirects.has(response.status)
}

const redirects = new Set([301, 302, 303, 307, 308])

/** Lets go of a body that nobody will read, so that it does not hold its connection. */
export function discardBody(response: Response): void {
  response.body?.cancel().catch(() => {})
}

/** Status, headers (without cookies, and without the token should the service echo it) and request id of an answer. */
export function responseInfo(response: Response, secrets: readonly string[]): ResponseInfo {
  const headers = new Headers()
  response.headers.forEach((value, name) => {
    if (!name.startsWith('set-cookie')) headers.append(name, withoutSecrets(value, secrets))
  })
  return {
    status: response.status,
    headers,
    requestId: headers.get('x-request-id') ?? headers.get('request-id') ?? undefined,
  }
}
