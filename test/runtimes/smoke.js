import { stacksOf } from './stacks.js'

/**
 * Runs the main job in the current runtime.
 *
 * @param given the settings of the runner: `baseUrl`, `closedUrl`, `refusedOutcome`, `selfToken`, `appToken`, `redirectUri`,
 *   `breakingUrl` of a server that stops when it receives a POST, and
 *   `stacks`, which `stacksOf` must return, unless the code is bundled
 * @returns the names of the checks
 */
export async function smoke({ SupportWorkspace, errors, oauth, otel, given }) {
  const { baseUrl, closedUrl, breakingUrl, refusedOutcome, selfToken, appToken, redirectUri, stacks } = given
  const done = []
  const check = (what, holds) => {
    if (!holds) throw new Error(`failed: ${what}`)
    done.push(what)
  }

  const workspace = new SupportWorkspace({ baseUrl, accessToken: selfToken, actor: 'self' })
  check('me', (await workspace.me()).actor === 'self')

  const ids = new Set()
  for await (const { id } of workspace.conversations.list({ limit: 50 })) ids.add(id)
  check('every conversation once', ids.size === 120)

  const [id] = ids
  const { data, response } = await workspace.messages.create(id, { body_html: '<p>Hi</p>' }).withResponse()
  check('a message with its response', data.body_html === '<p>Hi</p>' && response.requestId !== undefined)

  const app = new SupportWorkspace({ baseUrl, accessToken: appToken })
  const rejected = await failure(app.messages.create(id, { body_html: '<p>Hi</p>' }))
  check(
    'an app token cannot send a message',
    rejected instanceof errors.ActorSelfRequiredError && rejected.outcome === 'refused',
  )

  const redirected = await failure(workspace.organization.get())
  check('a redirect is rejected', redirected.reason === 'redirect')

  if (stacks !== undefined) {
    const found = await stacksOf(workspace)
    check(`stacks (${found})`, found === stacks)
  }

  const spans = []
  const hooks = otel.otelHooks({ tracer: { startSpan: (name) => recordSpan(name, spans) } })
  await new SupportWorkspace({ baseUrl, accessToken: selfToken, hooks }).me()
  check('OpenTelemetry spans', spans.join() === 'GET /api/oauth/v1/me,me')

  const controller = new AbortController()
  const reason = new Error('enough')
  const aborted = failure(workspace.me({ signal: controller.signal }))
  controller.abort(reason)
  check('an abort keeps its reason', (await aborted) === reason)

  const unreachable = new SupportWorkspace({ baseUrl: closedUrl, accessToken: selfToken, maxRetries: 0 })
  const write = () => unreachable.contacts.create({ email: 'ada@example.com' })
  const refused = await failure(write())
  check(
    `a refused connection is ${refusedOutcome}`,
    refused instanceof errors.NetworkError && refused.outcome === refusedOutcome,
  )
  if (breakingUrl !== undefined) await broken()

  await login()
  await handlers()
  return done

  /** A runtime that sends a request again on its own reports that the second connection was refused. */
  async function broken() {
    const breaking = new SupportWorkspace({ baseUrl: breakingUrl, accessToken: selfToken })
    await breaking.request('GET', '/x')
    const { outcome } = await failure(breaking.request('POST', '/x', { body: {} }))
    check('a write whose reused connection breaks is unknown', outcome === 'unknown')
  }

  async function login() {
    const login = new oauth.OAuthApp({ baseUrl, clientId: 'app_sandbox', clientSecret: 'secret_sandbox', redirectUri })
    const { url, transaction } = await login.startLogin({ scope: ['conversations:read'] })
    const token = await login.finishLogin(await allow(url), transaction)
    check('a login with PKCE', token.scope === 'conversations:read' && !JSON.stringify(token).includes('swot_'))

    const store = new oauth.ConnectionStore({ baseUrl, secret: 'thirty-two characters, or some more' })
    const { key } = await store.save(token)
    const connected = await store.workspace(key)
    check('a connection', connected.actor === 'app' && (await connected.me()).actor === 'app')
  }

  async function handlers() {
    let connected
    const { start, callback } = oauth.createLoginHandlers(
      new oauth.OAuthApp({ baseUrl, clientId: 'app_sandbox', clientSecret: 'secret_sandbox', redirectUri }),
      {
        secret: 'thirty-two characters, or some more',
        scope: ['conversations:read'],
        onConnected: (token) => {
          connected = token
        },
      },
    )
    const started = await start(new Request(new URL('/login?return_to=/inbox', redirectUri)))
    const cookie = started.headers.get('set-cookie').split(';')[0]
    const back = await allow(started.headers.get('location'))
    const ended = await callback(new Request(back, { headers: { cookie } }))
    check('login handlers', ended.headers.get('location') === '/inbox' && connected.accessToken.startsWith('swot_'))
  }
}

/** Allows access as an admin's browser does, and returns the callback URL. */
async function allow(url) {
  const consent = await fetch(`${url}&auto=allow`, { redirect: 'manual' })
  return consent.headers.get('location')
}

/** Returns a span that adds its name to the list when it ends. */
function recordSpan(name, ended) {
  const span = {
    end: () => ended.push(name),
    setAttribute: () => span,
    setAttributes: () => span,
    setStatus: () => span,
  }
  return span
}

async function failure(call) {
  try {
    await call
  } catch (error) {
    return error
  }
  throw new Error('failed: the call should have been rejected')
}
