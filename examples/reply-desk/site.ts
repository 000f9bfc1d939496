import { readFileSync } from 'node:fs'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { generateSignedCookie, getSignedCookie } from 'hono/cookie'
import { csrf } from 'hono/csrf'
import { HTTPException } from 'hono/http-exception'
import { secureHeaders } from 'hono/secure-headers'
import {
  InvalidArgumentError,
  NotFoundError,
  SupportWorkspace,
  SupportWorkspaceError,
  textToHtml,
} from 'support-workspace-sdk'
import { ApprovalsError } from 'support-workspace-sdk/approvals'
import { htmlToText } from 'support-workspace-sdk/html'
import { createLoginHandlers, type OAuthApp, scopesFor } from 'support-workspace-sdk/oauth'
import type { Desk } from './desk.ts'
import { draftsPage, htmlOf, layout, loginPage, noticePage, shownName } from './page.ts'

/** A damaged entry must not hide the other drafts. */
const onUnreadable = (error: ApprovalsError) => console.error(error.message)

/** Length of a session, in milliseconds. */
const lifetime = 8 * 60 * 60 * 1000
const self = ["'self'"]
const contentSecurityPolicy = {
  ...{ defaultSrc: ["'none'"], scriptSrc: self, connectSrc: self, formAction: self, frameAncestors: ["'none'"] },
  // For the frames of messages, which inherit the policy.
  ...{ styleSrc: ["'self'", "'unsafe-inline'"], imgSrc: ['data:'] },
}

/** What the signed cookie of a login says. */
interface Session {
  /** In milliseconds since the Unix epoch. */
  readonly expiresAt: number
  /** Who decides: name and id. */
  readonly by: string
}

export function createSite({ workspace, approvals, secret }: Desk, app: OAuthApp, publicUrl: string) {
  const secure = publicUrl.startsWith('https:')
  const cookie = secure ? '__Host-reply_desk' : 'reply_desk'
  const login = createLoginHandlers(app, {
    secret,
    actor: 'self',
    scope: scopesFor('messages.list'),
    async onConnected({ accessToken }, { returnTo: location }) {
      // The token only says who has logged in. It is not kept, because the worker's token sends.
      const person = await new SupportWorkspace({ baseUrl: app.baseUrl, accessToken }).me()
      const organization = person.organization?.id
      if (organization === undefined || organization !== (await workspace.me()).organization?.id) {
        return new Response('This desk belongs to another organization.', { status: 403 })
      }
      // People choose their names. A name alone can be that of somebody else.
      const by = `${shownName(person.user?.name)} (${person.user?.id})`
      const session = JSON.stringify({ expiresAt: Date.now() + lifetime, by } satisfies Session)
      const options = { path: '/', httpOnly: true, sameSite: 'Lax', secure } as const
      const headers = { location, 'set-cookie': await generateSignedCookie(cookie, session, secret, options) }
      return new Response(null, { status: 303, headers })
    },
  })

  /** Returns what is open, and what the person has decided last, so that the page says what became of it. */
  async function draftsFor(decided: string | undefined) {
    const last = decided ? await approvals.get(decided) : undefined
    const open = (await approvals.list({ onUnreadable })).filter(({ key }) => key !== decided).slice(0, 20)
    const drafts = last === undefined ? open : [last, ...open]
    return { drafts, version: drafts.map(({ key, digest, state }) => `${key} ${digest} ${state}`).join() }
  }

  const site = new Hono<{ Variables: { person: string } }>()
  site.use(secureHeaders({ contentSecurityPolicy }), csrf({ origin: new URL(publicUrl).origin }))
  site.use(bodyLimit({ maxSize: 1024 * 1024 }))
  for (const [name, type] of Object.entries({ 'style.css': 'text/css', 'update.js': 'text/javascript' })) {
    const file = readFileSync(new URL(name, import.meta.url), 'utf8')
    site.get(`/${name}`, (context) => context.body(file, 200, { 'content-type': type }))
  }
  site.get('/login', (context) => login.start(context.req.raw))
  site.get('/login/callback', (context) => login.callback(context.req.raw))

  site.use(async (context, next) => {
    const session = await getSignedCookie(context, secret, cookie)
    const { expiresAt, by }: Session = session ? JSON.parse(session) : { expiresAt: 0, by: '' }
    if (expiresAt <= Date.now()) return context.html(layout(loginPage))
    context.set('person', by)
    await next()
    context.header('cache-control', 'no-store')
  })

  site.get('/', async (context) => {
    const { drafts, version } = await draftsFor(context.req.query('decided'))
    const { user: sender } = await workspace.me()
    // A colleague can have removed the conversation.
    const orNone = (error: unknown) => (error instanceof NotFoundError ? { data: [] } : Promise.reject(error))
    const messagesOf = (id = '') => workspace.messages.list(id, { limit: 10 }).then(null, orNone)
    const cards = drafts.map(async (draft) => ({ draft, messages: (await messagesOf(draft.conversationId)).data }))
    return context.html(
      layout(draftsPage(context.var.person, shownName(sender?.name), await Promise.all(cards)), version),
    )
  })

  site.get('/version', async (context) => context.text((await draftsFor(context.req.query('decided'))).version))

  site.post('/decide', async (context) => {
    const form = await context.req.parseBody()
    const field = (name: string) => {
      const value = form[name]
      if (typeof value === 'string' && value.trim() !== '') return value
      throw new HTTPException(400, { message: `The form has no text in its field "${name}".` })
    }
    const [key, step, by] = [field('key'), field('step'), context.var.person]
    if (step === 'approve') {
      // Browsers send the lines of a textarea with CRLF.
      const text = field('text').replaceAll('\r\n', '\n')
      const isEdited = text !== htmlToText(htmlOf(await approvals.get(key))).text
      const body = isEdited ? { body_html: textToHtml(text) } : undefined
      await approvals.approve(key, { digest: field('digest'), by, body })
    } else if (step === 'reject') await approvals.reject(key, { by })
    else if (step === 'applied' || step === 'absent') await approvals.resolve(key, step)
    return context.redirect(`/?decided=${encodeURIComponent(key)}`, 303)
  })

  site.onError((error, context) => {
    if ('getResponse' in error) return error.getResponse()
    if (!(error instanceof SupportWorkspaceError)) throw error
    const status = error instanceof InvalidArgumentError ? 400 : error instanceof ApprovalsError ? 409 : 502
    return context.html(layout(noticePage(error.message)), status)
  })
  return site
}
