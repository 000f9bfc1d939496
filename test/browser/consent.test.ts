import { OAuthApp } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { picture, useBrowser } from './helpers/use-browser.ts'

const visit = useBrowser()
const redirectUri = 'http://127.0.0.1:1/callback'

let sandbox: Sandbox

beforeEach(async () => {
  const description = 'Replies to conversations at night, and tells the team about them in the morning.'
  sandbox = await startSandbox({ app: { name: 'Night desk', description, redirectUris: [redirectUri] } })
})

afterEach(() => sandbox.close())

test.each([
  ['self', 1280, 800, 'light'],
  ['app', 1280, 800, 'dark'],
  ['self', 390, 844, 'dark'],
  ['app', 390, 844, 'light'],
] as const)(
  'the buttons of the consent page for actor %s are visible at %i×%i without scrolling',
  async (actor, width, height, colorScheme) => {
    const { page } = await visit({ viewport: { width, height }, colorScheme })
    const { clientId, clientSecret, scopes } = sandbox.app
    const app = new OAuthApp({ baseUrl: sandbox.url, redirectUri, clientId, clientSecret })
    const { url } = await app.startLogin({ scope: scopes.join(' '), actor })
    await page.goto(url)
    for (const name of ['Allow', 'Deny']) {
      const box = await page.getByRole('button', { name }).boundingBox()
      expect(box?.y).toBeGreaterThan(0)
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(height)
    }
    await picture(page, `consent-${actor}-${width}`)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    // The buttons do not cover the last field.
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    const choice = await page.getByLabel('Signed in as').boundingBox()
    const allow = await page.getByRole('button', { name: 'Allow' }).boundingBox()
    expect((choice?.y ?? 0) + (choice?.height ?? 0)).toBeLessThan(allow?.y ?? 0)
  },
)
