import {
  defineOperation,
  InvalidArgumentError,
  type RequestError,
  type SupportWorkspace,
  SupportWorkspaceError,
} from 'support-workspace-sdk'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod/mini'
import { json, makeClient, neverSettles, page, rejection, type Step, scripted, token } from '../helpers/client.ts'
import { jitter } from '../helpers/clock.ts'
import { encodedForms } from '../helpers/encoded-forms.ts'
import { thrower } from '../helpers/failing-callbacks.ts'
import { printedForms } from '../helpers/printed-forms.ts'

/** The second one lacks the prefix of the service, so that it cannot be recognized by its form. */
const tokens = [token, 'f81d4fae-7dec-11d0+a765/00a0c91e6bf6=']

function expectNoToken(value: unknown): void {
  const forms = printedForms(value)
  expect(forms.length).toBeGreaterThan(0)
  for (const secret of tokens) {
    const spellings = [secret, ...encodedForms(secret)]
    const found = spellings.filter((spelling) => forms.some((form) => form.includes(spelling)))
    expect(found).toEqual([])
  }
}

const keyedByAnything = defineOperation({
  id: 'x',
  method: 'GET',
  path: '/x',
  response: z.record(z.string(), z.record(z.string(), z.string())),
})

const breaking = (error: Error) => new ReadableStream({ start: (body) => body.error(error) })

/** Ways to cause each kind of error, with a service and a platform that echo the token wherever they can. */
function waysToFail(
  secret: string,
): [string, Step | Step[], ((client: SupportWorkspace<'self'>) => PromiseLike<unknown>)?][] {
  const echo = {
    'x-request-id': `req-${secret}`,
    'www-authenticate': `Bearer ${secret}`,
    'x-echo': `Authorization: Bearer ${secret}; ${encodeURIComponent(secret)}`,
    'x-long': `${'x'.repeat(600)}${secret}`,
    'set-cookie': `token=${secret}`,
  }
  const errorResponse = (status: number, code: string) =>
    json(
      { error: code, error_description: `Your token Bearer ${secret} (${encodeURIComponent(secret)}) is no good.` },
      status,
      echo,
    )
  const platformError = Object.assign(
    new TypeError(`fetch failed with ${secret}`, {
      cause: Object.assign(new AggregateError([new Error(secret)], ''), { code: `E${secret}` }),
    }),
    {
      request: new Request('https://api.test', { headers: { authorization: `Bearer ${secret}` } }),
      options: { headers: { authorization: secret } },
      name: `Error${secret}`,
      code: secret,
    },
  )
  const circular = new Error(secret)
  circular.cause = circular
  const [encoded, quoted] = [encodeURIComponent(secret), JSON.stringify(secret)]
  const callOwn = (client: SupportWorkspace) => client.call(keyedByAnything)
  return [
    ...[304, 400, 401, 403, 404, 405, 408, 409, 422, 429, 500, 503].map((status): [string, Step] => [
      `status ${status}`,
      status === 304 ? new Response(null, { status, headers: echo }) : errorResponse(status, 'some_code'),
    ]),
    ['an error code that is the token', errorResponse(400, secret)],
    ...encodedForms(secret).map((form): [string, Step] => [
      `the token as ${form}`,
      json({ error: form, error_description: `No access for Basic ${form}.` }, 401, {
        'x-echo': `Basic ${form}`,
        'x-request-id': form,
        'www-authenticate': `Bearer error="${form}"`,
      }),
    ]),
    [
      'a fetch that throws an error full of encoded tokens',
      thrower(new TypeError(`fetch failed: ${encodedForms(secret)}`, { cause: new Error(`${encodedForms(secret)}`) })),
    ],
    ['invalid_token', errorResponse(401, 'invalid_token')],
    ['insufficient_scope', errorResponse(403, 'insufficient_scope')],
    ['actor_self_required', errorResponse(422, 'actor_self_required')],
    ['a token cut off in a long description', json({ error_description: 'x'.repeat(490) + secret }, 400)],
    ['a redirect', new Response(null, { status: 302, headers: { ...echo, location: `/?t=${encoded}` } })],
    ['HTML', new Response(`<html>${secret}`, { headers: echo })],
    ['an error with status 200', json({ error: secret, error_description: secret }, 200, echo)],
    ['an envelope with another shape', json({ data: secret, page_metadata: { after: { secret } } }, 200, echo)],
    ['a body that is too long', new Response(secret.repeat(10_000), { headers: echo })],
    ['a fetch that throws an error full of tokens', thrower(platformError)],
    ['a fetch that throws an error that is its own cause', thrower(circular)],
    ['a fetch that throws a string', thrower(secret)],
    ['a fetch that throws an object', thrower({ headers: { authorization: secret } })],
    ['a fetch that throws undefined', thrower(undefined)],
    ['a fetch that returns no response', (() => ({ secret })) as never],
    ['a body that breaks', () => new Response(breaking(platformError), { headers: echo })],
    ['a repeated cursor', json(page([], 'a'), 200, echo), (client) => client.conversations.list().toArray()],
    ['a schema mismatch', json({ data: { id: 7, role: { [secret]: secret } } }, 200, echo)],
    [
      'a mismatch in a key that is the token',
      json({ data: { [`my ${secret}`]: { [secret]: 1 } } }, 200, echo),
      callOwn,
    ],
    [
      'a mismatch in a key that is the encoded token',
      json({ data: { [encoded]: { [quoted]: 1 } } }, 200, echo),
      callOwn,
    ],
    ['a timeout', neverSettles, (client) => client.me({ timeout: 1 })],
    ['an invalid request body', json({}), (client) => client.messages.create('c1', { body_html: { secret } as never })],
    ['an invalid path parameter', json({}), (client) => client.members.get('..')],
    ['retries that fail in different ways', [errorResponse(503, 'x'), thrower(platformError), errorResponse(404, 'x')]],
  ]
}

const hookNames = ['onOperationStart', 'onOperationEnd', 'onAttemptStart', 'onAttemptEnd', 'onRetry']

describe.each(tokens)('with the token %s', (secret) => {
  test.each(waysToFail(secret))('errors and events do not contain it after %s', async (_, steps, call) => {
    const events: unknown[] = []
    const record = (event: unknown) => void events.push(event)
    const printed = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) => vi.spyOn(console, name))
    jitter(0)
    const onInvalidToken = thrower(new Error(`cannot forget ${secret}`, { cause: { secret } }))
    const client = makeClient({
      fetch: scripted(...[steps].flat()),
      accessToken: { getAccessToken: () => secret, onInvalidToken },
      validation: 'strict',
      maxResponseBytes: 10_000,
      hooks: Object.fromEntries(hookNames.map((name) => [name, record])),
    })
    const result = call === undefined ? client.members.get('1') : call(client)
    const error = (await rejection(result)) as RequestError
    expectNoToken(error)
    expectNoToken(result)
    expectNoToken(events)
    // A call whose arguments are invalid does not start.
    if (!(error instanceof InvalidArgumentError)) expect(events.length).toBeGreaterThanOrEqual(2)
    for (const spy of printed) expect(spy).not.toHaveBeenCalled()
    vi.restoreAllMocks()
  })
})

test.each(tokens.flatMap((secret) => [secret, () => secret]))(
  'the token %s is in nothing that a client returns',
  async (accessToken) => {
    const secret = typeof accessToken === 'string' ? accessToken : accessToken()
    const headers = { 'x-request-id': secret, 'x-echo': `Bearer ${secret}` }
    const client = makeClient({ accessToken, fetch: scripted(() => json(page([{ id: '1' }], 'a'), 200, headers)) })
    const call = client.call({ id: 'x', method: 'GET', path: '/x', envelope: 'bare' })
    const list = client.conversations.list()
    const pages = list.pages()
    for (const value of [client, call, list, pages, call.withResponse()]) expectNoToken(value)
    const responses = [await call.withResponse(), await list, await list.withResponse(), (await pages.next()).value]
    for (const value of [...responses, client]) expectNoToken(value)
    await pages.return()
  },
)

const halved = 'abcdefghijkl,mnopqrstuvwx.'
test.each([
  ['a challenge at its comma', json({}, 401, { 'www-authenticate': `Bearer error="${halved}"` })],
  ['a reason at its dot', json({ errors: { email: [halved], name: ['is bad'] } }, 422)],
])('no part of a token is in the error of %s', async (_, response) => {
  const client = makeClient({ accessToken: halved, fetch: scripted(response) })
  const error = await rejection(client.contacts.create({ email: 'a@example.com' }))
  expect(printedForms(error).join('\n')).not.toMatch(/abcdefghijkl|mnopqrstuvwx/)
})

/** Ways in which the page of a cursor can fail, with a service and a platform that quote the cursor. */
function waysToFailWith(cursor: string): [string, Step | Step[]][] {
  const quoted = `${cursor} or ${encodeURIComponent(cursor)} or ${JSON.stringify(cursor)}`
  const headers = { 'x-request-id': encodeURIComponent(cursor), 'x-echo': encodeURIComponent(cursor) }
  const platformError = Object.assign(new TypeError(`Failed to fetch ?after=${quoted}`), { code: cursor })
  return [
    ...[400, 401, 403, 404, 410, 422, 429, 500].map((status): [string, Step] => [
      `a ${status}`,
      json({ error: quoted, error_description: `The cursor ${quoted} has expired.` }, status, headers),
    ]),
    ['an error with status 200', json({ error: cursor, error_description: cursor }, 200, headers)],
    ['a redirect', new Response(null, { status: 307, headers: { ...headers, location: `/x?${headers['x-echo']}` } })],
    ['a page of HTML', new Response(`<p>${cursor}</p>`, { headers })],
    ['half of the JSON', new Response(`{"data":"${cursor}`, { headers })],
    ['another envelope', json({ data: cursor }, 200, headers)],
    ['a schema mismatch', json({ data: [{ id: { [cursor]: cursor } }], page_metadata: { after: null } }, 200, headers)],
    ['the same cursor again', json({ data: [], page_metadata: { after: cursor } }, 200, headers)],
    ['an error of fetch', platformError],
    ['a body that breaks', () => new Response(breaking(platformError))],
    ['a timeout', neverSettles],
    ['a bug in the `fetch` option', new ReferenceError(quoted)],
  ]
}

describe.each(['cursor-Zx81mQ7+9rT4/vB2nK6=', 'a "cursor" with spaces'])('the cursor %s', (cursor) => {
  test.each(waysToFailWith(cursor))('is in no error after %s', async (_, step) => {
    const first = json(page([{ id: '1' }], cursor))
    const client = makeClient({
      fetch: scripted(first, ...[step].flat()),
      validation: 'strict',
      maxRetries: 0,
      timeout: 50,
    })
    const error = await rejection(client.conversations.list().toArray())
    expect(error).toBeInstanceOf(SupportWorkspaceError)
    const forms = printedForms(error).join('\n')
    const spellings = [cursor, encodeURIComponent(cursor), JSON.stringify(cursor).slice(1, -1)]
    expect(spellings.filter((spelling) => forms.includes(spelling))).toEqual([])
  })
})

test('an error contains neither the query nor the body of the request', async () => {
  const fetch = scripted(new TypeError('fetch failed', { cause: new Error('read ECONNRESET') }))
  const client = makeClient({ fetch, maxRetries: 0 })
  const errors = [
    await rejection(client.conversations.list({ after: 'private-cursor' })),
    await rejection(client.messages.create('c1', { body_html: 'private-words' })),
  ]
  expect(printedForms(errors).join('\n')).not.toMatch(/private-(cursor|words)/)
})
