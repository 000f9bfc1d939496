import { badRequest, forbidden, HttpError } from '../http-error.ts'
import { isPlainObject } from '../schema.ts'

/**
 * The headers of every response of the console. Scripts, styles and connections are its own; no other site can frame it,
 * load its files or keep a reference to its window.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Throws a 403 if a page of another origin sent the request. Programs that are not browsers send neither header. */
export function checkSameOrigin(headers: Headers, url: URL): void {
  const site = headers.get('sec-fetch-site') ?? 'same-origin'
  const origin = headers.get('origin') ?? url.origin
  if ((site === 'same-origin' || site === 'none') && origin === url.origin) return
  throw forbidden('Only the console itself can send this request.')
}

/** Throws a 400 unless the body is JSON, which a form of another site cannot send. */
export function checkJson(headers: Headers): void {
  if (mediaType(headers.get('content-type')) === 'application/json') return
  throw badRequest('The body must be sent as `content-type: application/json`.')
}

/**
 * Reads a body as text. Returns `undefined` for a body over 1 MiB and stops reading it, so that no request can fill the
 * memory.
 */
export async function readBodyText(request: Request): Promise<string | undefined> {
  if (Number(request.headers.get('content-length')) > maxBodyBytes) return undefined
  const reader = request.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    bytes += chunk.value.length
    // Canceling the body would close the connection before the response.
    if (bytes > maxBodyBytes) return undefined
    text += decoder.decode(chunk.value, { stream: true })
  }
  return text + decoder.decode()
}

export function contentTooLarge(): HttpError {
  return new HttpError(413, 'content_too_large', 'The body is larger than 1 MiB.', { connection: 'close' })
}

const maxBodyBytes = 1024 * 1024

/** Returns the media type without its parameters, in lower case. */
export function mediaType(contentType: string | null): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** Parses a body as a JSON object. Throws a 400 if it is not one. */
export function parseJsonObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badRequest('The body is not valid JSON.')
  }
  if (!isPlainObject(value)) throw badRequest('The body must be a JSON object.')
  return value
}
