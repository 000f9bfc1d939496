import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ClientOptions, Logger, RateLimiter } from '../../src/index.ts'
import { brokenConnection, json, makeClient, refusal, type Step, scripted, token } from '../helpers/client.ts'

/** A logger that keeps its lines. */
function recorder(): Logger & { readonly lines: string[] } {
  const lines: string[] = []
  const at = (level: string) => (message: string) => lines.push(`${level} ${message}`)
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Returns what is logged while a contact is read or created, without the name of the package and durations. */
async function logged(
  steps: Step[],
  { write = false, ...options }: Partial<ClientOptions> & { write?: boolean } = {},
): Promise<string[]> {
  const logger = recorder()
  const { contacts } = makeClient({ fetch: scripted(...steps), logger, ...options })
  const call = write ? contacts.create({ email: 'ada@example.com' }) : contacts.get('cnt_secret')
  const settled = call.catch(() => {})
  await vi.advanceTimersByTimeAsync(60_000)
  await settled
  expect(logger.lines.filter((line) => !/^\w+ support-workspace-sdk: /.test(line))).toEqual([])
  return logger.lines.map((line) => line.replace('support-workspace-sdk: ', '').replace(/\d+ ms/g, 'N ms'))
}

const contact = json({ data: { id: 'cnt_secret', blocked: 'no' } }, 200, { 'x-request-id': 'req_1' })

/** A limiter that only says that a call waits. */
const waiting: RateLimiter = { acquire: (_key, _signal, { onWait }) => onWait(5) }

describe('logger', () => {
  const path = '/api/oauth/v1/contacts'
  const unauthorized = refusal(401, 'invalid_token')
  const debug = { logLevel: 'debug' } as const
  test.each<[string, Step[], Parameters<typeof logged>[1], string[]]>([
    [
      'debug and info: failed attempts, and the wait before a retry',
      [refusal(503, 'down'), contact],
      debug,
      [
        `debug GET ${path}/{id} 503 ServerError in N ms (attempt 1)`,
        'info contacts.get is retried in N ms after attempt 1: 503',
        `debug GET ${path}/{id} 200 in N ms (attempt 2, request id req_1)`,
      ],
    ],
    [
      'info: a network error that is retried',
      [brokenConnection(), contact],
      { logLevel: 'info' },
      ['info contacts.get is retried in N ms after attempt 1: NetworkError'],
    ],
    [
      'debug: a network error, and the wait for the rate limit before it',
      [brokenConnection()],
      { ...debug, rateLimiter: waiting, rateLimitKey: 'k', write: true },
      [
        'info contacts.create waits N ms for the rate limit',
        `debug POST ${path} NetworkError in N ms (attempt 1)`,
        'error contacts.create failed with NetworkError, and may have been applied',
      ],
    ],
    ['warn: a rejected token', [unauthorized], {}, ['warn contacts.get: the service rejected the access token']],
    [
      'warn: a mismatch, where onDrift is given',
      [contact],
      { onDrift: () => {} },
      ['warn contacts.get: expected boolean in `blocked`, received string (1 times)'],
    ],
    ['a mismatch is not looked for without onDrift', [contact], {}, []],
    [
      'error: a write that may have been applied',
      [refusal(503, 'down')],
      { write: true, logLevel: 'error' },
      ['error contacts.create failed with ServerError, and may have been applied'],
    ],
    ['off: nothing', [refusal(503, 'down')], { write: true, logLevel: 'off' }, []],
  ])('%s', async (_, steps, options, expected) => {
    vi.useFakeTimers()
    expect(await logged(steps, options)).toEqual(expected)
    vi.useRealTimers()
  })

  test('lines hold neither token nor body, even where the service echoes the token', async () => {
    vi.useFakeTimers()
    const echo = json({ error: token, error_description: token }, 500, { 'x-request-id': token })
    const lines = await logged([echo], { logLevel: 'debug', maxRetries: 1 })
    vi.useRealTimers()
    expect(lines).toHaveLength(3)
    expect(lines.join()).not.toContain(token)
  })
})

test('lines of `request()` hold the template of its path, and no token that is part of it', async () => {
  const logger = recorder()
  const client = makeClient({ fetch: scripted(json({})), logger, logLevel: 'debug' })
  await client.request('GET', '/contacts/{id}', { path: { id: 'cnt_secret' } })
  await client.request('GET', `/tokens/${token}`)
  expect(logger.lines.map((line) => line.replace(/ 200 .*/, ''))).toEqual([
    'debug support-workspace-sdk: GET /contacts/{id}',
    'debug support-workspace-sdk: GET /tokens/[redacted]',
  ])
})

describe('SUPPORT_WORKSPACE_LOG', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })

  /** Returns how often `console.debug` was called for one request. */
  async function consoleLines(options: Partial<ClientOptions> = {}): Promise<number> {
    const debug = vi.spyOn(console, 'debug').mockImplementation(() => {})
    await makeClient({ fetch: scripted(contact), ...options }).contacts.get('c')
    return debug.mock.calls.length
  }

  test.each<[string, Partial<ClientOptions>, number]>([
    ['debug', {}, 1],
    ['info', {}, 0],
    ['verbose', {}, 0],
    ['debug', { logLevel: 'warn' }, 0],
    ['debug', { logger: recorder() }, 0],
  ])('%s with %j logs %i requests to the console', async (level, options, count) => {
    vi.stubEnv('SUPPORT_WORKSPACE_LOG', level)
    expect(await consoleLines(options)).toBe(count)
  })

  const complaint = 'support-workspace-sdk: SUPPORT_WORKSPACE_LOG must be one of debug, info, warn, error, off.'

  test.each([
    ['debug', []],
    ['', []],
    ['loud', [complaint]],
  ])('%j makes the console warn once of %j', async (level, expected) => {
    vi.stubEnv('SUPPORT_WORKSPACE_LOG', level)
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    await consoleLines()
    expect(warn.mock.calls.flat()).toEqual(expected)
  })

  test('is the default of logLevel, also for a logger that is a function', async () => {
    vi.stubEnv('SUPPORT_WORKSPACE_LOG', 'debug')
    const logger = Object.assign(() => {}, recorder())
    await consoleLines({ logger })
    expect(logger.lines).toHaveLength(1)
  })

  test('is not read in Deno, which would ask for permission, nor where there is no process', async () => {
    vi.stubEnv('SUPPORT_WORKSPACE_LOG', 'debug')
    vi.stubGlobal('Deno', {})
    expect(await consoleLines()).toBe(0)
    vi.stubGlobal('Deno', undefined)
    for (const process of [undefined, {}]) {
      vi.stubGlobal('process', process)
      expect(await consoleLines()).toBe(0)
    }
  })
})
