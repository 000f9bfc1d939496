import { createServer } from 'node:http'
import { type FaultRule, parseFault } from 'support-workspace-sdk/sandbox'
import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../helpers/listen.ts'
import { type Running, run, start } from './run.ts'

const running: Running[] = []
afterEach(async () => {
  for (const each of running.splice(0)) {
    each.interrupt()
    await each.ended
  }
})

/** Starts the sandbox, and returns its address when it listens. */
async function serve(args: readonly string[] = [], platform?: string): Promise<Running & { readonly url: string }> {
  const started = start(['sandbox', '--port', '0', ...args], platform === undefined ? {} : { platform })
  running.push(started)
  await started.printed('Ctrl+C')
  return { ...started, url: /http:\/\/127\.0\.0\.1:\d+/.exec(started.output.stdout)?.[0] ?? '' }
}

const read = (url: string, path: string, token: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/api/oauth/v1/${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } })

describe('the command `sandbox`', () => {
  test('prints working tokens, and closes when it is interrupted', async () => {
    const { url, output, interrupt, ended } = await serve(
      '--conversations 3 --auto-consent deny --redirect-uri http://localhost:8080/back --no-cors'.split(' '),
    )
    for (const text of ['app_sandbox', 'secret_sandbox', 'http://localhost:8080/back', `${url}/\n`]) {
      expect(output.stdout).toContain(text)
    }
    for (const actor of ['app', 'self']) {
      const token = new RegExp(`actor=${actor} +(swot_\\w+)`).exec(output.stdout)?.[1] ?? ''
      const me = await read(url, 'me', token, { origin: 'https://app.example' })
      expect(await me.json()).toMatchObject({ actor })
      expect(me.headers.has('access-control-allow-origin')).toBe(false)
      const list = await read(url, 'conversations', token)
      expect(((await list.json()) as { data: unknown[] }).data).toHaveLength(3)
    }
    interrupt()
    expect(await ended).toMatchObject({ code: 0, stderr: '' })
    await expect(fetch(url)).rejects.toThrow()
  })

  test.each([
    ['linux', (name: string) => new RegExp(`^  export ${name}=(\\S+)$`, 'm')],
    ['win32', (name: string) => new RegExp(`^  \\$env:${name} = '(\\S+)'$`, 'm')],
  ])('on %s, prints the address and a token as two lines to paste', async (platform, line) => {
    const { output } = await serve([], platform)
    const [url = '', token = ''] = ['SUPPORT_WORKSPACE_URL', 'SUPPORT_WORKSPACE_TOKEN'].map(
      (name) => line(name).exec(output.stdout)?.[1],
    )
    const env = { SUPPORT_WORKSPACE_URL: url, SUPPORT_WORKSPACE_TOKEN: token }
    expect((await run(['whoami', '--json'], { env })).lines).toMatchObject([
      { actor: 'self', source: 'environment', baseUrl: url },
    ])
  })

  test('writes as the customer and as a colleague into a sandbox that runs', async () => {
    const { url } = await serve(['--app-token', 'swot_app', '--conversations', '1'])
    const port = new URL(url).port
    const items = async (path: string) =>
      (
        (await (await read(url, path, 'swot_app')).json()) as {
          data: { id: string; role?: string; body_html?: string }[]
        }
      ).data
    const [conversation] = await items('conversations')
    const id = conversation?.id ?? ''
    const owner = (await items('users')).find(({ role }) => role === 'admin')
    const write = (...words: string[]) => run(['sandbox', '--port', port, ...words])
    expect(await write('receive', id, 'Is <b> there any news?')).toMatchObject({
      code: 0,
      stdout: `The customer wrote in ${id}.\n`,
    })
    expect(await write('answer', id, 'Refunded.', '--member', owner?.id ?? '')).toMatchObject({ code: 0 })
    const [newest, before] = await items(`conversations/${id}/messages`)
    expect([newest, before]).toMatchObject([
      { body_html: '<p>Refunded.</p>', source: 'dashboard' },
      { body_html: '<p>Is &lt;b&gt; there any news?</p>', source: 'email' },
    ])
    const unknown = await write('answer', 'cnv_none', 'Hello')
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toContain('The sandbox has no conversation "cnv_none".')
    const short = (await write('answer', id)).stderr
    expect(short).toContain('needs "receive" or "answer", a conversation id and a text')
    expect(short).toContain('For example: npx --no -- support-workspace-sdk sandbox answer cnv_1 "Refunded."')
    expect((await run(['sandbox', '--port', '1', 'receive', id, 'Hello'])).stderr).toContain('No sandbox listens on')
  })

  test('uses fixed tokens, limits the rate, injects faults and prints a line for each request', async () => {
    const { url, output, printed } = await serve([
      ...['--self-token', 'swot_self', '--app-token', 'swot_app', '--log', '--client-id', 'app_x', '--cors'],
      ...['--fault', 'status=503,path=/contacts', '--rate-limit', '3/h', '--client-secret', 'secret_x'],
    ])
    expect(output.stdout).toMatch(/client id +app_x\n.*secret +secret_x\n/)
    const me = await read(url, 'me', 'swot_self', { origin: 'https://app.example' })
    expect([me.status, me.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    expect((await read(url, 'contacts?limit=1', 'swot_app')).status).toBe(503)
    expect((await read(url, 'conversations', 'swot_other')).status).toBe(401)
    expect((await read(url, 'me', 'swot_self')).status).toBe(429)
    await printed('rate limit')
    const lines = output.stdout.split('Ctrl+C to stop.\n')[1]?.replaceAll(/^\d\d:\d\d:\d\d {2}/gm, '')
    expect(lines?.split('\n')).toEqual([
      '200  GET     /api/oauth/v1/me  self',
      '503  GET     /api/oauth/v1/contacts  app  contacts:read  [status=503]',
      '401  GET     /api/oauth/v1/conversations  conversations:read',
      '429  GET     /api/oauth/v1/me  self  [rate limit]',
      '',
    ])
  })

  test('reports that the port is in use and exits with 1', async () => {
    const port = await listen(createServer())
    const { code, stderr } = await run(['sandbox', '--port', String(port)])
    expect(code).toBe(1)
    expect(stderr).toBe(`Port ${port} on 127.0.0.1 is already in use. Choose another port, or 0 for any free one.\n`)
  })

  test.each<[argument: string | string[], message: string]>([
    ['--port', '"--port <number>" argument missing'],
    ['--port=abc', '--port must be an integer from 0 to 65535.'],
    ['--self-token=real_secret', '--self-token must be a token of letters, digits and'],
    ['--app-token=real_secret b', '--app-token must be a token of letters, digits and'],
    [['--self-token=swot_one', '--app-token=swot_one'], 'must be two different tokens.'],
    ['--redirect-uri=', '--redirect-uri must be an absolute URL of printable ASCII characters without a fragment'],
    ['--auto-consent=true', '--auto-consent must be "allow" or "deny".'],
    ['--allowed-host=sandbox:80', '--allowed-host must be an array of host names without a port'],
    ['--host=0.0.0.0', '--host is "0.0.0.0", which other machines reach, and --allowed-host is empty.'],
    ['--seed=abc', '--seed must be an integer from 0 to 4294967295.'],
    ['--rate-limit=100', '--rate-limit must be a number of requests per s, min or h, such as "100/min".'],
    ['--fault=', '--fault "" is invalid. A fault must have one of "status", "drop", "truncate", "garbage", "drip",'],
    ['--fault=status=abc', '"status" must be an integer from 200 to 599.'],
    ['--fault=state=503', '"state" is not an option of a fault.'],
    ['--fault=status=503,status=500', '"status" is set twice.'],
    ['--fault=__proto__=x,status=503', '"__proto__" is not an option of a fault.'],
    ['--fault=status=503,path=messages', '"path" must be the end of a path, such as "/messages", or a'],
    ['--fault=status=503,times=0', '"times" must be an integer of at least 1 or "all".'],
    ['--fault=drip=16', '"drip" must be a number of bytes and milliseconds, such as "16/500"'],
    [['--redirect-url', 'a:b'], 'Unknown option "--redirect-url". Did you mean --redirect-uri?'],
    ['--client-secret-file=real_secret', 'Unknown option "--client-secret-file".'],
    [['--self-token=', 'real_secret'], 'needs "receive" or "answer"'],
    ['real_secret', 'needs "receive" or "answer"'],
  ])('rejects %j', async (argument, message) => {
    const { code, stdout, stderr } = await run(['sandbox', '--port', '0', ...[argument].flat()])
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('real_secret')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })
})

test.each<[string, FaultRule]>([
  ['status=429,retry-after=30', { status: 429, retryAfter: 30 }],
  ['status=503,retry-after=soon,effect', { status: 503, retryAfter: 'soon', effect: true }],
  ['drop=after-effect,after=3', { drop: 'after-effect', after: 3 }],
  ['truncate', { truncate: true }],
  ['garbage=true', { garbage: true }],
  ['latency=1.5,times=all', { latency: 1.5, times: Infinity }],
  ['status=500,path=/a.b', { status: 500, path: '/a.b' }],
  ['drip=16/500, latency=10, method=post', { drip: { bytes: 16, interval: 500 }, latency: 10, method: 'post' }],
])('reads the fault %s', (text, rule) => {
  expect(parseFault(text)).toEqual(rule)
})
