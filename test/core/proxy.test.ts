import { execFile } from 'node:child_process'
import { setGlobalProxyFromEnv } from 'node:http'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { RequestError, SupportWorkspace, WebFetch } from 'support-workspace-sdk'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { Agent, getGlobalDispatcher, ProxyAgent, setGlobalDispatcher, fetch as undiciFetch } from 'undici'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { makeClient, rejection } from '../helpers/client.ts'
import { freePort } from '../helpers/free-port.ts'
import { type LoopbackProxy, startProxy } from '../helpers/proxy.ts'
import { certificatePath, readCertificate, startTlsServer } from '../helpers/tls-server.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

async function startTestProxy(options?: Parameters<typeof startProxy>[0]): Promise<LoopbackProxy> {
  const proxy = await startProxy(options)
  onTestFinished(() => proxy.close())
  return proxy
}

async function startTestTls(options?: Parameters<typeof startTlsServer>[1]): Promise<string> {
  const server = await startTlsServer(sandbox.url, options)
  onTestFinished(() => server.close())
  return server.url
}

const write = async (client: SupportWorkspace<'self'>) =>
  (await rejection(client.contacts.create({ email: 'ada@example.com' }, { maxRetries: 0 }))) as RequestError

describe('a program without any configuration in code', () => {
  const program = fileURLToPath(new URL('../helpers/print-actor.ts', import.meta.url))

  /** Returns what the program prints when Node runs it with these flags and variables. */
  async function printed(baseUrl: string, variables: Record<string, string>, ...flags: string[]) {
    const env = {
      PATH: process.env.PATH,
      BASE_URL: baseUrl,
      ACCESS_TOKEN: sandbox.issueToken({ actor: 'app' }),
      ...variables,
    }
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, program], { env })
    return stdout.trim()
  }

  test("uses the proxy from Node's environment variables", async () => {
    const proxy = await startTestProxy()
    expect(await printed(sandbox.url, { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url })).toBe('app')
    expect(proxy.hosts).toEqual([new URL(sandbox.url).host])
  })

  test('is told that nothing was sent if that proxy refuses the tunnel', async () => {
    const { url } = await startTestProxy({ refuseWith: 407 })
    const failing = printed(sandbox.url, { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: url })
    await expect(failing).rejects.toThrow(
      'Nothing was sent. The proxy opened no tunnel to the host of `baseUrl`, but responded with 407.',
    )
  })

  test('trusts the CA of `NODE_EXTRA_CA_CERTS`', async () => {
    expect(await printed(await startTestTls(), { NODE_EXTRA_CA_CERTS: certificatePath('ca') })).toBe('app')
  })

  test('trusts the CAs of the system with `--use-system-ca`', async () => {
    // OpenSSL reads the CAs of the system from this file.
    const variables = { SSL_CERT_FILE: certificatePath('ca') }
    expect(await printed(await startTestTls(), variables, '--use-system-ca')).toBe('app')
  })
})

const agents: [string, (url: string) => void][] = [
  ['setGlobalProxyFromEnv', (url) => onTestFinished(setGlobalProxyFromEnv({ http_proxy: url }))],
  ['a global ProxyAgent of undici', useGlobally],
]

function useGlobally(url: string): void {
  const before = getGlobalDispatcher()
  const agent = new ProxyAgent({ uri: url, proxyTunnel: true })
  setGlobalDispatcher(agent)
  onTestFinished(async () => {
    setGlobalDispatcher(before)
    await agent.close()
  })
}

describe.each(agents)('with %s, a call', (_, useProxy) => {
  test('goes through the proxy', async () => {
    const proxy = await startTestProxy()
    useProxy(proxy.url)
    const client = makeClient({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }) })
    expect((await client.me()).actor).toBe('self')
    expect(proxy.hosts).toEqual([new URL(sandbox.url).host])
  })

  test.each([
    [407, 'fix'],
    [403, 'fix'],
    [502, 'retry'],
  ])('whose tunnel is refused with %i was not sent, and has the remedy %s', async (refuseWith, remedy) => {
    useProxy((await startTestProxy({ refuseWith })).url)
    const { outcome, remedy: told, hint } = await write(makeClient({ baseUrl: sandbox.url }))
    expect([outcome, told]).toEqual(['not-sent', remedy])
    expect(hint).toContain('Nothing was sent. The proxy opened no tunnel to the host of `baseUrl`')
    expect(hint).toContain(`, but responded with ${refuseWith}. Check that it reaches and allows the host`)
  })

  test('was not sent if the proxy is down', async () => {
    useProxy(`http://127.0.0.1:${await freePort()}`)
    expect(await write(makeClient({ baseUrl: sandbox.url }))).toMatchObject({ outcome: 'not-sent', remedy: 'retry' })
  })
})

test('a write was not sent if the proxy hangs up instead of opening a tunnel', async () => {
  useGlobally((await startTestProxy({ refuseWith: 'hang-up' })).url)
  const error = await write(makeClient({ baseUrl: sandbox.url }))
  expect(error).toMatchObject({ outcome: 'not-sent', remedy: 'retry' })
  expect(error.hint).toContain('The proxy opened no tunnel to the host of `baseUrl`. Check')
})

describe('a certificate', () => {
  const trusted = getCACertificates('default')
  const trustCa = () => {
    setDefaultCACertificates([...trusted, readCertificate('ca')])
    onTestFinished(() => setDefaultCACertificates(trusted))
  }

  test.each([
    ['of an unknown CA', 'valid', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['that is self-signed', 'self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ] as const)('%s is to be trusted first: nothing was sent', async (_, certificate, code) => {
    const error = await write(makeClient({ baseUrl: await startTestTls({ certificate }) }))
    expect(error).toMatchObject({ outcome: 'not-sent', remedy: 'fix', cause: { cause: { code } } })
    expect(error.hint).toMatch(/^Nothing was sent\. .*`NODE_EXTRA_CA_CERTS`.*`--use-system-ca`/)
  })

  test.each([
    ['that has expired', 'expired', 'CERT_HAS_EXPIRED'],
    ['that is not valid yet', 'not-yet-valid', 'CERT_NOT_YET_VALID'],
    ['of another host', 'other-host', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const)('%s is to be replaced first: nothing was sent', async (_, certificate, code) => {
    trustCa()
    const error = await write(makeClient({ baseUrl: await startTestTls({ certificate }) }))
    expect(error).toMatchObject({ outcome: 'not-sent', remedy: 'fix', cause: { cause: { code } } })
    expect(error.hint).toMatch(/^Nothing was sent\. .* Otherwise replace it, or correct `baseUrl` or the clock\.$/)
  })
})

describe('a custom fetch', () => {
  test.each([
    ['a ProxyAgent', (url: string) => new ProxyAgent(url)],
    ['an Agent', () => new Agent()],
  ])('that gives %s of another undici to the global fetch sends nothing', async (_, create) => {
    const dispatcher = create((await startTestProxy()).url)
    onTestFinished(() => dispatcher.close())
    const init = { dispatcher } as object
    const before = sandbox.requests.length
    const error = await write(
      makeClient({ baseUrl: sandbox.url, fetch: (url, rest) => fetch(url, { ...rest, ...init }) }),
    )
    expect(error).toMatchObject({ outcome: 'not-sent', remedy: 'fix' })
    expect(error.hint).toMatch(/^Nothing was sent\. .* Import both from the same installed package/)
    expect(sandbox.requests).toHaveLength(before)
  })

  test('whose tunnel is refused proves nothing, but says what to fix', async () => {
    const dispatcher = new ProxyAgent({ uri: (await startTestProxy({ refuseWith: 407 })).url, proxyTunnel: true })
    onTestFinished(() => dispatcher.close())
    const proxied: WebFetch = (url, init) => undiciFetch(url, { ...init, dispatcher })
    const client = makeClient({ baseUrl: sandbox.url, fetch: proxied })
    const error = await write(client)
    expect(error).toMatchObject({ outcome: 'unknown', remedy: 'verify' })
    expect(error.hint).toMatch(
      'Check before retrying it. The proxy opened no tunnel to the host of `baseUrl`, but responded with 407.',
    )
    expect(await rejection(client.me())).toMatchObject({ outcome: 'no-effect', remedy: 'fix', attempts: [{}] })
  })
})
