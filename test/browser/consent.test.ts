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
    const box = async (name: string) => {
      const { y, height } = (await page.getByRole('button', { name }).boundingBox()) ?? { y: 0, height: 0 }
      return { top: y, bottom: y + height }
    }
    expect((await box('Deny')).bottom).toBeLessThanOrEqual(height)
    await picture(page, `consent-${actor}-${width}`)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    // The bar with the buttons covers nothing, and the writes are named before the list is opened.
    const list = await page.getByRole('group').last().boundingBox()
    expect((list?.y ?? 0) + (list?.height ?? 0)).toBeLessThan((await box('Allow')).top)
    await page.getByText('Writes conversations, ').waitFor()
    await page.getByText('This app will be able to').click()
    await page.getByText('Create, update and delete tasks').waitFor()
    await page.getByLabel('Signed in as').focus()
    expect((await page.getByLabel('Signed in as').boundingBox())?.y).toBeLessThan((await box('Allow')).top)
  },
)
