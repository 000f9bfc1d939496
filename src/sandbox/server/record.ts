import { randomUUID } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { AppEnv } from '../app-env.ts'
import type { Delays, FaultList } from '../faults/inject-faults.ts'
import { bearerToken, formType, HttpError, parseBody, parseParameters } from '../http.ts'
import type { LogEntry, OpenRecord, RequestLog } from '../request-log.ts'
import type { SandboxData } from '../sandbox-data.ts'

/** The parts of a sandbox. */
export interface AppParts {
  readonly sandbox: SandboxData
  readonly faults: FaultList
  readonly delays: Delays
  readonly log: RequestLog
  /** Whether the log also has the bodies, for a console. */
  readonly captureBodies: boolean
}

type OperationOf = (c: Context<AppEnv>) => { name: string; scope: string | undefined } | undefined

/** Records each request from its arrival to its response, with its operation, and gives the response an id. */
export function recordRequests(
  { sandbox, log, captureBodies }: AppParts,
  operationOf: OperationOf,
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const startedAt = performance.now()
    const { method, url, headers } = c.req.raw
    const { pathname, search } = new URL(url)
    const token = bearerToken(headers) ?? ''
    const grant = sandbox.grants.token(token)
    const operation = operationOf(c)
    const request: OpenRecord = {
      method,
      path: pathname,
      query: parseParameters(search.slice(1)),
      headers: Object.fromEntries(headers),
      body: undefined,
      status: undefined,
      at: sandbox.settings.now(),
      operation: operation?.name,
      scope: operation?.scope,
      actor: grant?.actor,
      fault: undefined,
      ignored: [],
    }
    const entry = log.add(request)
    c.set('grant', grant)
    c.set('entry', entry)
    await next()
    entry.duration = performance.now() - startedAt
    if (c.env.drop === undefined || c.env.drop === 'mid-body') {
      // A fault can set its own request id.
      if (!c.res.headers.has('x-request-id')) c.res.headers.set('x-request-id', randomUUID())
      if (!c.res.headers.has('date')) c.res.headers.set('date', new Date(sandbox.settings.now()).toUTCString())
      if (request.ignored.length > 0) c.res.headers.set('x-sandbox-ignored', request.ignored.map(encoded).join(', '))
      request.status = c.res.status
    }
    if (captureBodies) {
      await captureBodiesOf(c, entry)
      log.count(entry, entry.responseBody)
    }
    log.finish(entry)
  }
}

/** Percent-encodes a name, which can have any character. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed())
}

const shownCharacters = 16_384

/** Adds the bodies to an entry of the log. */
async function captureBodiesOf(c: Context<AppEnv>, entry: LogEntry): Promise<void> {
  // A body that was refused was not read.
  entry.requestBody = shownText(c.get('body')?.text ?? '')
  // Reading a dripping body ahead would keep its timer running after the client is gone, and a stalled one never ends.
  const isSlow = /\b(drip=|stall)/.test(entry.request.fault ?? '')
  entry.responseBody = isSlow ? undefined : shownText(await c.res.clone().text())
}

function shownText(text: string): string | undefined {
  return text === '' ? undefined : text.slice(0, shownCharacters)
}

/** Reads the body of each request once, up to a limit, so that no request fills the memory or blocks the event loop. */
export function readBodies(log: RequestLog): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const type = mediaType(c.req.header('content-type'))
    const limit = type === formType ? formLimit : otherLimit
    try {
      const refused = await limit(c, async () => {
        const text = await c.req.text()
        const body = parseBody(type, text)
        const entry = c.get('entry')
        c.set('body', body)
        entry.request.body = body.value
        log.count(entry, text)
      })
      if (refused) return refused
    } catch {
      // The client aborted the upload, so it does not wait for a response.
      c.env.drop = 'before-headers'
      return c.body(null)
    }
    return next()
  }
}

const otherLimit = bodyLimit({ maxSize: 1024 * 1024, onError: () => tooLarge('The body is larger than 1 MiB.') })
const formLimit = bodyLimit({ maxSize: 64 * 1024, onError: () => tooLarge('The form is larger than 64 KiB.') })

function tooLarge(description: string): Response {
  // The connection must close, because the rest of the body stays unread.
  return new HttpError(413, 'content_too_large', description, { connection: 'close' }).toResponse()
}

function mediaType(contentType: string | undefined): string {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
