import { AuthenticationError, SupportWorkspace } from 'support-workspace-sdk'
import { LoginError, PublicOAuthApp } from 'support-workspace-sdk/oauth'
import type { PageConfig } from '../site.ts'
import { showAccount } from './account.ts'
import { showConnect } from './connect.ts'
import { part } from './elements.ts'
import { showInbox } from './inbox.ts'
import { finishLogin, isCallback } from './login.ts'

const config: PageConfig = await (await fetch('/config.json')).json()
const app = new PublicOAuthApp(config)

if (!isCallback(app)) disconnected()
else {
  try {
    await connected(await finishLogin(app))
  } catch (error) {
    disconnected(reasonOf(error))
  }
}

async function connected(accessToken: string): Promise<void> {
  const workspace = await SupportWorkspace.connect({ baseUrl: config.baseUrl, accessToken })
  const me = await workspace.me()
  const leave = showInbox({ workspace, me, onEnded: (error) => disconnected(reasonOf(error)) })
  showAccount(me, () => {
    leave()
    disconnected('This page has forgotten its access. An admin can end it for good in the dashboard.')
  })
}

/** The token is in the closures of what is shown: taking that away forgets it. */
function disconnected(reason?: string): void {
  part('account').replaceChildren()
  showConnect(app, reason)
}

function reasonOf(error: unknown): string {
  if (error instanceof AuthenticationError) return 'The connection has ended: an admin revoked it, or it has expired.'
  if (error instanceof LoginError && error.reason === 'access_denied')
    return 'Access was not granted. Nothing is connected.'
  return error instanceof Error ? error.message : String(error)
}
