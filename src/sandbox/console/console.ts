// src/sandbox/console holds the pages at the sandbox's address, which are served only over HTTP. The pages do not
// belong to the service, so recording, faults, the rate limit and CORS headers do not apply to them.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import { streamSSE } from 'hono/streaming'
import { pageStyle } from '../html-page.ts'
import { badRequest, forbidden, notFound } from '../http.ts'
import { readFaultForm } from './faults.ts'
import { createLogins, unknownLoginPage } from './login.ts'
import { consolePage } from './page.ts'
import type { ConsoleContext } from './view.ts'

/** Returns the console, which has `/`, `/_sandbox` and every path below it. */
export function createConsole(context: ConsoleContext): Hono {
  const { sandbox, faults, log, addresses } = context
  const logins = createLogins(context)
  /** Resolves with the next change of what the console shows. */
  let change = Promise.withResolvers<void>()
  const showChange = (): void => {
    change.resolve()
    change = Promise.withResolvers()
  }
  log.onFinish(showChange)

  const app = new Hono()
  const guard = csrf({ origin: (origin) => addresses.isOwnOrigin(origin) })
  app.use(secureHeaders(headers), async (c, next) => {
    c.header('cache-control', 'no-store')
    // Only browsers send one of these headers.
    const isBrowser = c.req.header('origin') !== undefined || c.req.header('sec-fetch-site') !== undefined
    return isBrowser ? guard(c, next) : next()
  })
  app.get('/', (c) => c.html(consolePage({ ...context, url: new URL(c.req.url) })))
  app.get('/_sandbox/icon.svg', (c) => c.body(icon, 200, { 'content-type': 'image/svg+xml' }))
  app.get('/_sandbox/style.css', (c) => c.body(pageStyle, 200, { 'content-type': 'text/css; charset=utf-8' }))
  app.get('/_sandbox/console.js', (c) => script(c, clientScript()))
  app.get('/_sandbox/idiomorph.js', (c) => script(c, idiomorph()))
  app.get('/_sandbox/events', (c) => {
    // Another website could open any number of event streams.
    const origin = c.req.header('origin') ?? addresses.url
    if ((c.req.header('sec-fetch-site') ?? 'same-origin') !== 'same-origin' || !addresses.isOwnOrigin(origin)) {
      return forbidden('Only the console can follow its events.').toResponse()
    }
    return streamSSE(c, async (stream) => {
      // The stream of a closed page ends with the next change, so closing a page counts as a change.
      stream.onAbort(showChange)
      while (!stream.aborted) {
        // Read before the write, so that a change during the write causes another event.
        const next = change.promise
        await stream.writeSSE({ data: 'changed', retry: 2_000 })
        await next
      }
    })
  })
  app.get('/_sandbox/callback', async (c) => {
    const page = await logins.finish(new URL(c.req.url).searchParams)
    return page === undefined ? c.html(unknownLoginPage(), 404) : c.html(page)
  })

  type Result = Record<string, string> | string | undefined
  /** Adds a form. Its handler returns the parameters of the page that show what is wrong, or an address to go to. */
  const form = (path: string, handle: (form: URLSearchParams, c: Context) => Result): void => {
    // The fields of a wrong form are sent back in the `Location` header, so a form must be small.
    app.post(`/_sandbox/${path}`, bodyLimit({ maxSize: 4 * 1024 }), async (c) => {
      if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header('content-type') ?? '')) {
        return badRequest('The body must be a form.').toResponse()
      }
      let result: Result
      try {
        result = handle(new URLSearchParams(await c.req.text()), c)
      } catch (thrown) {
        if (thrown instanceof TypeError) return badRequest(thrown.message).toResponse()
        throw thrown
      }
      showChange()
      return c.redirect(typeof result === 'string' ? result : viewAfter(c, result ?? {}), 303)
    })
  }
  form('connections/revoke', (fields) => void sandbox.grants.revokeById(fields.get('id') ?? ''))
  form('tokens', (fields) => void sandbox.renewReadyToken(fields.get('actor') === 'app' ? 'app' : 'self'))
  form('requests/clear', () => void log.clear())
  form('messages', (fields) => {
    const text = fields.get('text') ?? ''
    const row = fields.get('conversation') ?? ''
    const member = fields.get('member')
    if (text === '') return { row }
    const bodyHtml = `${html`<p>${text}</p>`}`
    if (fields.get('as') === 'colleague') sandbox.answer(row, bodyHtml, member ? { member } : {})
    else sandbox.receiveMessage(row, bodyHtml)
    return { row }
  })
  form('faults', (fields) => {
    const { rule } = readFaultForm(fields)
    if (rule === undefined) return { fault: fields.toString() }
    faults.add(rule)
  })
  form('faults/remove', (fields) => void faults.remove(Number(fields.get('id'))))
  form('login/start', (fields, c) => logins.start(fields, new URL(c.req.url).origin) ?? { login: fields.toString() })

  app.notFound(() => notFound('page of the console').toResponse())
  return app
}

/** Returns the address of the view whose form was sent. Parameters of an earlier mistake are removed. */
function viewAfter(c: Context, changes: Record<string, string>): string {
  const referrer = c.req.header('referer') ?? ''
  const query = new URLSearchParams(URL.canParse(referrer) ? new URL(referrer).search : '')
  for (const name of ['fault', 'login']) query.delete(name)
  for (const [name, value] of Object.entries(changes)) query.set(name, value)
  const [, , form = ''] = new URL(c.req.url).pathname.split('/')
  return `/?${query}#${form === 'messages' ? query.get('row') : form}`
}

const headers: Parameters<typeof secureHeaders>[0] = {
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
  },
  strictTransportSecurity: false,
  referrerPolicy: 'same-origin',
  xFrameOptions: 'DENY',
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f5bd0"/><path d="M8 10h16v10H15l-4 4v-4H8z" fill="#fff"/></svg>`

function script(c: Context, text: string): Response {
  return c.body(text, 200, { 'content-type': 'text/javascript; charset=utf-8' })
}

// The build puts the texts of these files here, because neither is in the package.
declare const CLIENT_SCRIPT: string | undefined
declare const IDIOMORPH: string | undefined

const clientScript = () => (typeof CLIENT_SCRIPT === 'string' ? CLIENT_SCRIPT : textOf('./client.js'))
const idiomorph = () => (typeof IDIOMORPH === 'string' ? IDIOMORPH : textOf('idiomorph/dist/idiomorph.min.js'))

function textOf(path: string): string {
  return readFileSync(createRequire(import.meta.filename).resolve(path), 'utf8')
}
