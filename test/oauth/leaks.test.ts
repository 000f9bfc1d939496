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
} from '../../src/oauth/index.ts'
import { fromRequest, rejection } from '../helpers/client.ts'
import { encodedForms } from '../helpers/encoded-forms.ts'
import { printedForms } from '../helpers/printed-forms.ts'
import { settled } from '../helpers/settled.ts'
import { callbackOf, clientSecret, code, makeApp, redirectUri, scope, startLogin, stateOf } from './helpers/login.ts'
import { accessToken, jsonResponse, type Responder, useTokenEndpoint } from './helpers/token-endpoint.ts'

const sealSecret = 'a secret of this app, 32 characters or more'

const endpoint = await useTokenEndpoint()
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

/** Searches for secrets in what is printed, as it shows without line breaks and spaces. */
function expectNoLeak(value: unknown, secrets: readonly string[]) {
  const text = printed(value).replace(/\\n|\s/g, '')
  expect(text.length).toBeGreaterThan(0)
  expect(secrets.filter((secret) => text.includes(secret.replaceAll(/\s/g, '')))).toEqual([])
}

test('reveals no secret in the app, the transaction, the token or the handlers, which show a placeholder', async () => {
  const app = makeApp(endpoint.url)
  const publicApp = new PublicOAuthApp({ baseUrl: endpoint.url, clientId: 'app_abc123', redirectUri })
  const login = await app.startLogin({ scope, actor: 'self' })
  const secrets = secretsOf(login)
  const restored = parseTransaction(serializeTransaction(login.transaction))
  const secret = { secret: sealSecret }
  const opened = await openTransaction(await sealTransaction(login.transaction, secret), secret)
  const token = await app.finishLogin(callbackOf(login), login.transaction)
  const handlers = createLoginHandlers(app, { ...secret, scope, onConnected: () => {} })
  const values = { app, publicApp, transaction: login.transaction, restored, opened, token, handlers }
  for (const value of [values, ...Object.values(values)]) expectNoLeak(value, secrets)
  expect(token.accessToken).toBe(accessToken)
  expect(JSON.parse(JSON.stringify(token))).toMatchObject({ accessToken: '[redacted]', tokenType: 'Bearer' })
  expect(inspect(token)).toMatch(/^AccessToken \{\s+accessToken: '\[redacted\]'/)
  expect(inspect({ app })).toContain("clientSecret: '[redacted]'")
  expect(JSON.parse(JSON.stringify(app))).toMatchObject({ clientId: 'app_abc123', clientSecret: '[redacted]' })
})

describe('reveals no secret in the error', () => {
  /** A service that quotes the whole request. */
  const echo =
    (status: number, shape: (text: string) => unknown): Responder =>
    (response, request) => {
      const { authorization = '' } = request.headers
      const sent = [...request.form.values(), clientSecret, authorization.slice(6)].join(' ')
      const text = `${sent} ${request.form} ${authorization} ${accessToken}`
      response.writeHead(status, {
        'content-type': 'application/json',
        'www-authenticate': `Basic error="${authorization}"`,
      })
      response.end(JSON.stringify(shape(text)))
    }
  const echoes: [string, Responder][] = [
    ['in a description', echo(400, (text) => ({ error: 'invalid_grant', error_description: text }))],
    ['in a code', echo(400, (text) => ({ error: text }))],
    ['in an object', echo(401, (text) => ({ error: { code: text, message: text } }))],
    ['in a problem', echo(403, (text) => ({ type: text, title: text, detail: text }))],
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
        const { app, login } = await startLogin(endpoint.url, { ...options, clientAuthentication })
        const secrets = secretsOf(login)
        yield { error: await rejection(finish(app, login, callbackOf(login))), secrets }
      }
    }
  }

  test.each(echoes)('of a service that quotes the request %s', async (_title, respond) => {
    endpoint.respond = respond
    for await (const { error, secrets } of failures()) expectNoLeak(error, secrets)
  })

  test.each<[string, (known: string) => Record<string, string | undefined>]>([
    ['with another state', () => ({ state: `${code}x` })],
    ['without a code', () => ({ code: undefined })],
    ['with another issuer', () => ({ iss: `https://evil.example/?${code}` })],
    ['with an error that quotes it', (known) => ({ error: known })],
    ['with a description that quotes it', (known) => ({ error: `denied ${code}`, error_description: known })],
  ])('of a callback %s', async (_title, change) => {
    const { login, finish } = await startLogin(endpoint.url, { clientAuthentication: 'client_secret_basic' })
    const secrets = secretsOf(login)
    // What the app has not sent is not known to it.
    const unknown = [accessToken, sealSecret].flatMap(encodedForms)
    const callback = callbackOf(login, change(secrets.filter((secret) => !unknown.includes(secret)).join(' ')))
    expectNoLeak(await rejection(finish(callback)), secrets)
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
    const { login, finish } = await startLogin(endpoint.url, { fetch: () => new Promise(() => {}) })
    const secrets = secretsOf(login)
    const outcome = rejection(finish())
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
  const { authorization = '' } = Object.fromEntries(request.headers)
  const text = [...new URLSearchParams(body).values(), authorization.slice(6), body, authorization].join(' ')
  const cause = Object.assign(new Error(text), { code: text, name: text })
  throw Object.assign(new TypeError(`could not send ${text}`, { cause }), { request, config: { body } })
}
