import { parse } from 'node:querystring'
import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { AppEnv, RequestBody } from '../app-env.ts'
import { HttpError } from '../http-error.ts'
import { formType } from '../operations/operation.ts'
import { type RequestLog, sizeOf } from '../request-log.ts'

/** Reads the body of each request once, up to a limit, so that no request fills the memory or blocks the event loop. */
export function readBodies(log: RequestLog): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const type = mediaType(c.req.header('content-type'))
    const limit = type === formType ? formLimit : otherLimit
    try {
      const refused = await limit(c, async () => {
        const body = parseBody(type, await c.req.text())
        const entry = c.get('entry')
        c.set('body', body)
        entry.request.body = body.value
        log.grow(entry, sizeOf(body.value))
      })
      if (refused) return refused
    } catch {
      // The upload was aborted, so nobody reads a response.
      c.env.drop = 'before-headers'
      return c.body(null)
    }
    return next()
  }
}

const otherLimit = bodyLimit({ maxSize: 1024 * 1024, onError: () => tooLarge('The body is larger than 1 MiB.') })
const formLimit = bodyLimit({ maxSize: 64 * 1024, onError: () => tooLarge('The form is larger than 64 KiB.') })

function tooLarge(description: string): Response {
  // The rest of the body is not read, so no other request can follow on the connection.
  return new HttpError(413, 'content_too_large', description, { connection: 'close' }).toResponse()
}

function mediaType(contentType: string | undefined): string {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function parseBody(type: string, text: string): RequestBody {
  if (text === '') return { type, text, value: undefined, problem: 'malformed' }
  if (type === formType) return { type, text, value: parseParameters(text) }
  if (type !== 'application/json') return { type, text, value: text }
  try {
    const value: unknown = JSON.parse(text)
    return isDeeperThan(maxDepth, value) ? { type, text, value: text, problem: 'too deep' } : { type, text, value }
  } catch {
    return { type, text, value: text, problem: 'malformed' }
  }
}

// Records are cloned and printed by recursive functions, for which deeper values exceed the stack.
const maxDepth = 100

function isDeeperThan(depth: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((inner) => isDeeperThan(depth - 1, inner))
}

/** Parses a query or a form. Unlike `URLSearchParams` it takes linear time. */
export function parseParameters(text: string): Record<string, string | string[]> {
  return { ...parse(text, '&', '=', { maxKeys: 0 }) } as Record<string, string | string[]>
}
