import { inspect } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  createLoginHandlers,
  type OAuthApp,
  type OAuthAppOptions,
  openTransaction,
  PublicOAuthApp,
  parseTransaction,
  type StartedLogin,
  sealTransaction,
  serializeTransaction,
} from '../../src/oauth.ts'
import { fromRequest, rejection } from '../helpers/client.ts'
import { encodedForms } from '../helpers/encoded-forms.ts'
import { printedForms } from '../helpers/printed-forms.ts'
import { settled } from '../helpers/settled.ts'
import { callbackOf, clientSecret, code, makeApp, redirectUri, scope, stateOf } from './helpers/login.ts'
import { accessToken, jsonResponse, type Responder, useTokenEndpoint } from './helpers/token-endpoint.ts'

const sealSecret = 'a secret of this app, 32 characters or more'

const endpoint = useTokenEndpoint()
afterEach(() => {
  vi.useRealTimers()
})

/** `token.accessToken` returns the secret. */
const printed = (value: unknown) => printedForms(value, ['accessToken']).join('\n')

/** The secrets of a login, in every form in which they are sent. */
function secretsOf(login: StartedLogin): string[] {
  const { codeVerifier } = JSON.parse(serializeTransaction(login.transaction))
  const plain = [clientSecret, code, stateOf(login), codeVerifier, accessToken, sealSecret]
  const basic = Buffer.from(`app_abc123:${new URLSearchParams([['', clientSecret]]).toString().slice(1)}`)
  return plain.flatMap((secret) => [secret, ...encodedForms(secret)]).concat(basic.toString('base64'))
}

function expectNoLeak(value: unknown, secrets: readonly string[]) {
  const text = printed(value)
  expect(text.length).toBeGreaterThan(0)
  const found = secrets.filter((secret) => text.includes(secret))
  expect(found).toEqual([])
}

describe('reveals no secret in', () => {
  test('the app, the transaction, the token or the handlers', async () => {
    const app = makeApp(endpoint.url)
    const publicApp = new PublicOAuthApp({ baseUrl: endpoint.url, clientId: 'app_abc123', redirectUri })
    const login = await app.startLogin({ scope, actor: 'self' })
    const secrets = secretsOf(login)
    const restored = parseTransaction(serializeTransaction(login.transaction))
    const opened = await openTransaction(await sealTransaction(login.transaction, { secret: sealSecret }), {
      secret: sealSecret,
    })
    const token = await app.finishLogin(callbackOf(login), login.transaction)
    const handlers = createLoginHandlers(app, { secret: sealSecret, scope, onConnected: () => {} })
    const values = { app, publicApp, transaction: login.transaction, restored, opened, token, handlers }
    for (const value of [values, ...Object.values(values)]) expectNoLeak(value, secrets)
    expect(token.accessToken).toBe(accessToken)
  })

  test('the printed app and token, which show a placeholder', async () => {
    const app = makeApp(endpoint.url)
    const login = await app.startLogin({ scope })
    const token = await app.finishLogin(callbackOf(login), login.transaction)
    expect(JSON.parse(JSON.stringify(token))).toMatchObject({ accessToken: '[redacted]', tokenType: 'Bearer' })
    expect(inspect(token)).toMatch(/^AccessToken \{\s+accessToken: '\[redacted\]'/)
    expect(inspect({ app })).toContain("clientSecret: '[redacted]'")
    expect(JSON.parse(JSON.stringify(app))).toMatchObject({ clientId: 'app_abc123', clientSecret: '[redacted]' })
  })

  test('an app that is printed by a runtime that passes no inspect function', () => {
    const app = makeApp(endpoint.url)
    const print: () => string = Reflect.get(app, Symbol.for('nodejs.util.inspect.custom'))
    expect(print()).toBe(`OAuthApp ${JSON.stringify(app)}`)
  })
})

describe('reveals no secret in the error', () => {
  /** A service that quotes the whole request. */
  const echo =
    (status: number, shape: (quoted: string) => unknown): Responder =>
    (response, request) => {
      const { authorization = '' } = request.headers
      const quoted = `${request.form} ${[...request.form.values()].join(' ')} ${authorization} ${accessToken}`
      response.writeHead(status, {
        'content-type': 'application/json',
        'www-authenticate': `Basic error="${authorization}"`,
      })
      response.end(JSON.stringify(shape(quoted)))
    }
  const echoes: [string, Responder][] = [
    ['in a description', echo(400, (text) => ({ error: 'invalid_grant', error_description: text }))],
    ['in a code', echo(400, (text) => ({ error: text }))],
    ['in an object', echo(401, (text) => ({ error: { code: text, message: text } }))],
    ['under status 200', echo(200, (text) => ({ error: text }))],
    ['in unexpected fields', echo(200, (text) => ({ access_token: text, token_type: text, scope: [text] }))],
    ['in a token of another type', echo(200, (text) => ({ access_token: accessToken, token_type: text }))],
    ['in a redirect', (response, { form }) => response.writeHead(307, { location: `/x?${form}` }).end()],
    ['in HTML', (response, { form }) => response.writeHead(502).end(`<p>${form}</p>`)],
    ['in truncated JSON', jsonResponse(`{"access_token":"${accessToken}`)],
  ]

  /** Yields the error and the secrets of a login that fails, for each way to authenticate the app and to finish a login. */
  async function* failures(options: Partial<OAuthAppOptions> = {}) {
    const browser = new PublicOAuthApp({ baseUrl: endpoint.url, clientId: 'app_abc123', redirectUri })
    const finishes = [
      (app: OAuthApp, { transaction }: StartedLogin, url: string) => app.finishLogin(url, transaction),
      (app: OAuthApp, { transaction }: StartedLogin, url: string) =>
        app.exchangeCode(browser.readCallback(url, transaction)),
    ]
    for (const clientAuthentication of ['client_secret_post', 'client_secret_basic'] as const) {
      for (const finish of finishes) {
        const app = makeApp(endpoint.url, { ...options, clientAuthentication })
        const login = await app.startLogin({ scope })
        const secrets = secretsOf(login)
        yield { error: await rejection(finish(app, login, callbackOf(login))), secrets }
      }
    }
  }

  test.each(echoes)('of a service that quotes the request %s', async (_title, respond) => {
    endpoint.respond = respond
    for await (const { error, secrets } of failures()) expectNoLeak(error, secrets)
  })

  const wrap = (secret: string, lineBreak: string) => secret.match(/.{1,7}/gu)?.join(lineBreak) ?? ''
  /** Removes what does not show where a text is printed without line breaks. */
  const unwrapped = (error: unknown) => printed(error).replace(/<br>|\\[nr]|%0A|\s|\p{Cf}/giu, '')
  const lineBreaks = ['\n', '\r\n ', '\u2028', '\u200b', '<br>', '\\n', '%0A']
  /** The secrets as `unwrapped` shows them. */
  const wholeSecrets = (secrets: readonly string[]) => secrets.map((secret) => secret.replaceAll(/\s/g, ''))

  test.each<[string, (quoted: string) => Responder]>([
    ['a code', (quoted) => jsonResponse({ error: quoted }, 400)],
    ['a description', (quoted) => jsonResponse({ error: 'invalid_grant', error_description: quoted }, 400)],
    ['an error under status 200', (quoted) => jsonResponse({ error: { code: quoted, message: quoted } })],
    ['a problem', (quoted) => jsonResponse({ type: quoted, title: quoted, detail: quoted }, 403)],
  ])('of a service that wraps them in %s', async (_title, respondWith) => {
    for (const lineBreak of lineBreaks) {
      endpoint.respond = (response, request) => {
        const { authorization = '' } = request.headers
        const sent = [...request.form.values(), clientSecret, authorization.slice(6)].filter((text) => text.length > 18)
        respondWith(sent.map((text) => wrap(text, lineBreak)).join(', '))(response, request)
      }
      for await (const { error, secrets } of failures()) {
        const text = unwrapped(error)
        expect(wholeSecrets(secrets).filter((secret) => text.includes(secret))).toEqual([])
      }
    }
  })

  test.each(lineBreaks)('of a callback or a fetch that wraps them with %j', async (lineBreak) => {
    const quoting = (login: StartedLogin) => {
      const { codeVerifier } = JSON.parse(serializeTransaction(login.transaction))
      return [clientSecret, code, stateOf(login), codeVerifier].map((text) => wrap(text, lineBreak)).join(', ')
    }
    for (const clientAuthentication of ['client_secret_post', 'client_secret_basic'] as const) {
      let quoted = ''
      const fetch = () => Promise.reject(Object.assign(new Error(quoted), { code: quoted, name: quoted }))
      const app = makeApp(endpoint.url, { clientAuthentication, fetch })
      for (const names of [['error'], ['error', 'error_description'], []]) {
        const login = await app.startLogin({ scope })
        quoted = quoting(login)
        const secrets = wholeSecrets(secretsOf(login))
        const change = Object.fromEntries(names.map((name) => [name, quoted]))
        const error = await rejection(app.finishLogin(callbackOf(login, change), login.transaction))
        expect(error).toMatchObject({ name: names.length === 0 ? 'NetworkError' : 'LoginError' })
        const text = unwrapped(error)
        expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
      }
    }
  })

  const callbacks: [string, Record<string, string | undefined>][] = [
    ['with another state', { state: `${code}x` }],
    ['without a code', { code: undefined }],
    ['with a duplicate code', { 'code ': code, again: undefined, iss: code }],
    ['with another issuer', { iss: `https://evil.example/?${code}` }],
    [
      'with an error that quotes it',
      { error: `denied ${code}`, error_description: `because of ${code}, ${clientSecret} and ${accessToken}` },
    ],
  ]

  test.each(callbacks)('of a callback %s', async (_title, change) => {
    const app = makeApp(endpoint.url, { clientAuthentication: 'client_secret_basic' })
    const login = await app.startLogin({ scope })
    const secrets = secretsOf(login)
    // What the app has not sent is not known to it.
    const unknown = [accessToken, sealSecret].flatMap(encodedForms)
    const known = secrets.filter((secret) => !unknown.includes(secret)).join(' ')
    const quoted = change.error === undefined ? {} : { error_description: `${change.error_description} ${known}` }
    expectNoLeak(
      await rejection(app.finishLogin(callbackOf(login, { ...change, ...quoted }), login.transaction)),
      secrets,
    )
  })

  const faults: [string, Partial<OAuthAppOptions>][] = [
    ['a fetch that quotes its request', { fetch: fromRequest(quoteAndThrow) }],
    ['a fetch that throws its request', { fetch: fromRequest((request) => Promise.reject(request)) }],
    ['a fetch that returns no response', { fetch: async () => undefined as never }],
  ]

  test.each(faults)('of %s', async (_title, options) => {
    for await (const { error, secrets } of failures(options)) {
      expect(error).toMatchObject({ name: 'NetworkError', operation: 'oauth.token' })
      expectNoLeak(error, secrets)
    }
  })

  test('of a timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
    const app = makeApp(endpoint.url, { fetch: () => new Promise(() => {}) })
    const login = await app.startLogin({ scope })
    const secrets = secretsOf(login)
    const outcome = rejection(app.finishLogin(callbackOf(login), login.transaction))
    await vi.advanceTimersByTimeAsync(30_000)
    const error = await settled(outcome)
    expect(error).toMatchObject({ name: 'TimeoutError' })
    expectNoLeak(error, secrets)
  })

  test('of an invalid option', () => {
    const bad: Partial<OAuthAppOptions>[] = [
      { clientAuthentication: clientSecret as never },
      { timeout: clientSecret as never },
      { redirectUri: clientSecret },
      { baseUrl: clientSecret },
    ]
    for (const options of bad) {
      try {
        makeApp(endpoint.url, options)
        expect.unreachable()
      } catch (error) {
        expectNoLeak(error, [clientSecret])
      }
    }
  })
})

async function quoteAndThrow(request: Request): Promise<never> {
  const body = await request.text()
  const text = `${body} ${[...new URLSearchParams(body).values()].join(' ')} ${request.headers.get('authorization')}`
  throw Object.assign(
    new TypeError(`could not send ${text}`, { cause: Object.assign(new Error(text), { code: text }) }),
    {
      request,
      config: { body },
    },
  )
}
