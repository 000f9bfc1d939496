// src/sandbox/console holds the page at the sandbox's address, which is served only over HTTP. The page does not belong
// to the service, so recording, faults, the rate limit and CORS headers do not apply to it.

import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { csrf } from 'hono/csrf'
import { html } from 'hono/html'
import { secureHeaders } from 'hono/secure-headers'
import { InvalidArgumentError } from '../../errors/index.ts'
import { pageStyle } from '../html-page.ts'
import { badRequest, notFound } from '../http.ts'
import { type ConsoleContext, consolePage } from './page.ts'
import { reloadScript } from './reload.ts'

/** Returns the console, which has `/`, `/_sandbox` and every path below it. */
export function createConsole(context: ConsoleContext): Hono {
  const { sandbox, log, addresses } = context
  const startedAt = Date.now()
  /** Number of changes of what the page shows. */
  let changes = 0
  const version = () => `${startedAt}-${changes}`
  log.onFinish(() => {
    changes += 1
  })

  const app = new Hono()
  const guard = csrf({ origin: (origin) => addresses.isOwnOrigin(origin) })
  app.use(secureHeaders(headers), async (c, next) => {
    c.header('cache-control', 'no-store')
    // Only browsers send one of these headers.
    const isBrowser = c.req.header('origin') !== undefined || c.req.header('sec-fetch-site') !== undefined
    return isBrowser ? guard(c, next) : next()
  })
  app.get('/', (c) => c.html(consolePage({ ...context, url: new URL(c.req.url), version: version() })))
  app.get('/_sandbox/version', (c) => c.text(version()))
  app.get('/_sandbox/icon.svg', (c) => c.body(icon, 200, { 'content-type': 'image/svg+xml' }))
  app.get('/_sandbox/style.css', (c) => c.body(pageStyle, 200, { 'content-type': 'text/css; charset=utf-8' }))
  app.get('/_sandbox/reload.js', (c) => {
    return c.body(reloadScript, 200, { 'content-type': 'text/javascript; charset=utf-8' })
  })

  /** Adds a form. Its handler returns the address in the page that it leads back to. */
  const form = (path: string, handle: (field: (name: string) => string) => string): void => {
    app.post(`/_sandbox/${path}`, bodyLimit({ maxSize: 64 * 1024 }), async (c) => {
      if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header('content-type') ?? '')) {
        return badRequest('The body must be a form.').toResponse()
      }
      const fields = new URLSearchParams(await c.req.text())
      try {
        const address = handle((name) => fields.get(name) ?? '')
        changes += 1
        return c.redirect(address, 303)
      } catch (thrown) {
        if (thrown instanceof InvalidArgumentError) return badRequest(thrown.message).toResponse()
        throw thrown
      }
    })
  }
  form('tokens/revoke', (field) => {
    sandbox.grants.revokeById(field('id'))
    return '/#tokens'
  })
  form('tokens', (field) => {
    sandbox.renewReadyToken(field('actor') === 'app' ? 'app' : 'self')
    return '/#tokens'
  })
  form('messages', (field) => {
    const [id, text, member] = [field('conversation'), field('text'), field('member')]
    // `required` of the field lets a text of spaces pass.
    if (text.trim() === '') throw new InvalidArgumentError('text', 'The message has no text.', 'Write one.')
    const bodyHtml = `${html`<p>${text}</p>`}`
    if (field('as') === 'colleague') sandbox.answer(id, bodyHtml, member === '' ? {} : { member })
    else sandbox.receiveMessage(id, bodyHtml)
    return `/?${new URLSearchParams({ organization: field('organization') })}#${encodeURIComponent(id)}`
  })

  app.notFound(() => notFound('page of the console').toResponse())
  return app
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
