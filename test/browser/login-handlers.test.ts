import type { Connection } from 'support-workspace-sdk/oauth'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { consent } from './helpers/consent.ts'
import { type ContactsApp, startContactsApp } from './helpers/contacts-app.ts'
import { useBrowser, type Visitor } from './helpers/use-browser.ts'

const visit = useBrowser()

let sandbox: Sandbox
let app: ContactsApp

beforeEach(async () => {
  sandbox = await startSandbox({ app: { name: 'Contacts', description: 'Requests one scope at a time.' } })
  app = await startContactsApp(sandbox)
})

afterEach(async () => {
  await app.close()
  await sandbox.close()
})

type Way = 'yourself' | 'the app'

async function connected(way: Way = 'yourself'): Promise<Visitor> {
  const visitor = await visit()
  await visitor.page.goto(app.url)
  await visitor.page.getByRole('link', { name: `Connect as ${way}` }).click()
  await consent(visitor.page, 'Allow')
  await visitor.page.getByRole('heading', { name: 'conversations' }).waitFor()
  return visitor
}

async function connections() {
  const all: Pick<Connection, 'actor' | 'scopes'>[] = []
  for await (const { actor, scopes } of app.store.list()) all.push({ actor, scopes })
  return all
}

describe('an app that needs one more scope', () => {
  test.each([
    ['yourself', 'self'],
    ['the app', 'app'],
  ] as const)('can request and receive it, connected as %s', async (way, actor) => {
    const { page } = await connected(way)
    expect(await connections()).toEqual([{ actor, scopes: ['conversations:read'] }])

    await page.goto(`${app.url}/contacts`)
    await page.getByText('This page needs contacts:read.').waitFor()
    await page.getByRole('button', { name: 'Allow contacts' }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    const requested = new URL(page.url()).searchParams
    expect([requested.get('scope'), requested.get('actor')]).toEqual(['conversations:read contacts:read', actor])
    await consent(page, 'Allow')
    await page.getByRole('heading', { name: /^\d+ contacts$/ }).waitFor()
    expect(page.url()).toBe(`${app.url}/contacts`)
    expect(await connections()).toEqual([{ actor, scopes: ['conversations:read', 'contacts:read'] }])
  })

  test('keeps its connection when the person denies it', async () => {
    const { page, watch } = await connected()
    await page.goto(`${app.url}/contacts`)
    await page.getByRole('button', { name: 'Allow contacts' }).click()
    await consent(page, 'Deny')
    await page.getByRole('heading', { name: 'Your connection is unchanged' }).waitFor()
    await watch.expectFailedResponses({ status: 403, path: '/login/callback' })
    expect(app.failures).toEqual([{ reason: 'access_denied', data: { userId: 'alice' }, returnTo: '/contacts' }])

    await page.getByRole('link', { name: 'Go back' }).click()
    await page.getByRole('heading', { name: 'One more permission' }).waitFor()
    await page.goto(`${app.url}/conversations`)
    await page.getByRole('heading', { name: 'conversations' }).waitFor()
    expect(await connections()).toEqual([{ actor: 'self', scopes: ['conversations:read'] }])
  })
})

test('one pair of handlers connects both actors, each with its own parameters', async () => {
  const { page } = await visit()
  for (const [way, actor, prompt, name] of [
    ['yourself', 'self', null, sandbox.state.members.find(({ role }) => role === 'admin')?.user.name],
    ['the app', 'app', 'consent', 'the app'],
    ['yourself', 'self', null, sandbox.state.members.find(({ role }) => role === 'admin')?.user.name],
  ] as const) {
    await page.goto(app.url)
    await page.getByRole('link', { name: `Connect as ${way}` }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    const requested = new URL(page.url()).searchParams
    expect([requested.get('actor'), requested.get('prompt')]).toEqual([actor, prompt])
    await consent(page, 'Allow')
    await page.getByText(`Connected as ${name}`).waitFor()
  }
  expect((await connections()).map(({ actor }) => actor).sort()).toEqual(['app', 'self'])
})

describe("a login bound to the app's own user", () => {
  test('is rejected when another user is signed in at the callback', async () => {
    const { page, openTab, watch } = await visit()
    await page.goto(app.url)
    await page.getByRole('link', { name: 'Connect as yourself' }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()

    const other = await openTab()
    await other.goto(`${app.url}/sign-in?user=bob`)
    await other.getByRole('heading', { name: 'Signed in as bob' }).waitFor()

    await consent(page, 'Allow')
    await page.getByText('alice started this login, but you are signed in as bob. Nothing was connected.').waitFor()
    await watch.expectFailedResponses({ status: 403, path: '/login/callback' })
    expect(await connections()).toEqual([])

    // The user who is signed in can connect.
    await other.getByRole('link', { name: 'Connect as yourself' }).click()
    await consent(other, 'Allow')
    await other.getByRole('heading', { name: 'conversations' }).waitFor()
    expect(await connections()).toHaveLength(1)
    await other.goto(`${app.url}/sign-in?user=alice`)
    await other.goto(`${app.url}/conversations`)
    await other.getByRole('heading', { name: 'Signed in as alice' }).waitFor()
  })

  test('passes its user and its return path to onError when it is denied', async () => {
    const { page, watch } = await visit()
    await page.goto(`${app.url}/sign-in?user=bob`)
    await page.goto(`${app.url}/login/self?return_to=/contacts`)
    await consent(page, 'Deny')
    await page.getByRole('heading', { name: 'You are not connected' }).waitFor()
    await watch.expectFailedResponses({ status: 403, path: '/login/callback' })
    expect(app.failures).toEqual([{ reason: 'access_denied', data: { userId: 'bob' }, returnTo: '/contacts' }])
    expect(await connections()).toEqual([])
  })
})
