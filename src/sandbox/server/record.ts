import { randomUUID } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { AppEnv } from '../app-env.ts'
import { HttpError } from '../http-error.ts'
import { bearerToken, formType, parseBody, parseParameters } from '../http-request.ts'
import type { AppParts } from '../parts.ts'
import { type LogEntry, type OpenRecord, type RequestLog, shortenTokens, sizeOf } from '../request-log.ts'

type OperationOf = (c: Context<AppEnv>) => { name: string; scope: string | undefined } | undefined

/** Records each request from its arrival to its response, with its operation, and gives the response an id. */
export function recordRequests(
  { service, log, captureBodies }: AppParts,
  operationOf: OperationOf,
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const startedAt = performance.now()
    const { method, url, headers } = c.req.raw
    const { pathname, search } = new URL(url)
    const token = bearerToken(headers) ?? ''
    const grant = service.grants.token(token)
    const operation = operationOf(c)
    const request: OpenRecord = {
      method,
      path: pathname,
      query: parseParameters(search.slice(1)),
      headers: Object.fromEntries(headers),
      body: undefined,
      status: undefined,
      at: service.settings.now(),
      operation: operation?.name,
      scope: operation?.scope,
      actor: grant?.actor,
      fault: undefined,
    }
    const entry = log.add(request, sizeOf(request))
    if (grant !== undefined) Object.assign(entry, { token: shortenTokens(token), organization: grant.organizationId })
    c.set('grant', grant)
    c.set('entry', entry)
    await next()
    entry.duration = performance.now() - startedAt
    if (c.env.drop === undefined || c.env.drop === 'mid-body') {
      // A fault can set its own request id.
      if (!c.res.headers.has('x-request-id')) c.res.headers.set('x-request-id', randomUUID())
      request.status = c.res.status
    }
    if (captureBodies) log.grow(entry, await captureBodiesOf(c, entry))
    log.finish(entry)
  }
}

const shownCharacters = 16_384

/** Adds the bodies to an entry of the log and returns their size. */
async function captureBodiesOf(c: Context<AppEnv>, entry: LogEntry): Promise<number> {
  // A body that was refused was not read.
  entry.requestBody = shownText(c.get('body')?.text ?? '')
  // Reading a dripping body ahead would keep its timer running after the client is gone.
  const isDripping = entry.request.fault?.includes('drip=')
  entry.responseBody = isDripping ? undefined : shownText(await c.res.clone().text())
  if (c.res.status >= 400) entry.error = readError(entry.responseBody)
  return sizeOf(entry.requestBody) + sizeOf(entry.responseBody)
}

function shownText(text: string): string | undefined {
  return text === '' ? undefined : shortenTokens(text.slice(0, shownCharacters))
}

function readError(text: string | undefined): LogEntry['error'] {
  try {
    const { error, error_description } = JSON.parse(text ?? '')
    return { code: String(error), description: String(error_description) }
  } catch {
    return undefined
  }
}

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
