import { afterEach, describe, expect, test, vi } from 'vitest'
import { PublicOAuthApp } from '../../src/oauth/index.ts'
import { makeApp, redirectUri } from './helpers/login.ts'

const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36'
const make = (options = {}) => makeApp('https://api.example', options)

function inPage() {
  vi.stubGlobal('window', { document: {} })
}

function inWorker(userAgent: string) {
  vi.stubGlobal('WorkerGlobalScope', class WorkerGlobalScope {})
  vi.stubGlobal('navigator', { userAgent })
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('a client secret', () => {
  test.each([
    ['a page', () => inPage()],
    ['a web worker', () => inWorker(chrome)],
    ['a React Native app', () => vi.stubGlobal('navigator', { product: 'ReactNative' })],
  ])('is rejected in %s', (_title, enter) => {
    enter()
    expect(() => make()).toThrow('can be read by every user')
  })

  test('is accepted in a browser only if explicitly allowed', () => {
    inPage()
    expect(make({ dangerouslyAllowSecretInBrowser: true }).clientId).toBe('app_abc123')
    expect(() => make({ dangerouslyAllowSecretInBrowser: 'no' })).toThrow('must be a boolean')
  })

  test.each<[string, () => unknown]>([
    ...['Cloudflare-Workers', 'Deno/2.5.0', 'Bun/1.3.0'].map((name): [string, () => void] => [
      name,
      () => inWorker(name),
    ]),
    ['no navigator', () => vi.stubGlobal('navigator', undefined)],
    [
      'the user agent of a browser, but neither a page nor a worker',
      () => vi.stubGlobal('navigator', { userAgent: chrome }),
    ],
  ])('is accepted on a server with %s', (_title, enter) => {
    enter()
    expect(make().clientId).toBe('app_abc123')
  })
})

test('accepts an app without a secret in a page', () => {
  inPage()
  const app = new PublicOAuthApp({ baseUrl: 'https://api.example', clientId: 'app_abc123', redirectUri })
  expect(app.redirectUri).toBe(redirectUri)
})
