import { afterAll } from 'vitest'
import {
  type AccessToken,
  createLoginHandlers,
  type LoginHandlersOptions,
  type LoginStartOptions,
  OAuthApp,
  type OAuthAppOptions,
} from '../../../src/oauth/index.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.ts'
import { Browser } from './browser.ts'

export const secret = 'a secret of this app, 32 characters or more'
export const siteUrl = 'https://app.example'
export const redirectUri = `${siteUrl}/login/callback`

export interface SiteOptions {
  readonly app?: Partial<OAuthAppOptions>
  readonly handlers?: Partial<LoginHandlersOptions>
  /** Options of each login. */
  readonly start?: LoginStartOptions
}

export type Site = ReturnType<typeof siteMaker>

/** Starts a service for the tests of a file, and returns a function that makes sites whose logins it consents to. */
export async function startService(): Promise<{ sandbox: Sandbox; makeSite: Site }> {
  const sandbox = await startSandbox({ autoConsent: 'allow' })
  afterAll(() => sandbox.close())
  sandbox.registerRedirectUri(redirectUri)
  sandbox.registerRedirectUri('http://localhost:3000/login/callback')
  return { sandbox, makeSite: siteMaker(sandbox) }
}

function siteMaker(sandbox: Sandbox) {
  /** A site with a login at `/login`, and the results of its logins. */
  return ({ app: appOptions = {}, handlers = {}, start }: SiteOptions = {}) => {
    const { clientId, clientSecret } = sandbox.app
    const app = new OAuthApp({ baseUrl: sandbox.url, clientId, clientSecret, redirectUri, ...appOptions })
    const tokens: AccessToken[] = []
    const errors: Error[] = []
    const login = createLoginHandlers(app, {
      secret,
      scope: ['conversations:read', 'messages:write'],
      actor: 'self',
      onConnected: (token) => void tokens.push(token),
      onError: (error) => void errors.push(error),
      ...handlers,
    })
    const callbackPath = new URL(app.redirectUri).pathname
    const serve = (request: Request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/login') return login.start(request, start)
      return pathname === callbackPath ? login.callback(request) : new Response(`page ${pathname}`)
    }
    const browser = () => new Browser({ [new URL(app.redirectUri).origin]: serve })
    return { app, login, tokens, errors, serve, browser }
  }
}

export const isCallback = (address: string): boolean => address.includes('/login/callback?')

/** Follows a login up to the callback, and returns the callback URL without requesting it. */
export async function untilCallback(browser: Browser, start = `${siteUrl}/login`): Promise<string> {
  return (await browser.go(start, isCallback)).at
}
