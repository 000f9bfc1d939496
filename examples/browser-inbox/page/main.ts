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

if (!isCallback(app)) disconnect()
else {
  try {
    await openInbox(await finishLogin(app))
  } catch (error) {
    disconnect(reasonOf(error))
  }
}

async function openInbox(accessToken: string): Promise<void> {
  const workspace = await SupportWorkspace.connect({ baseUrl: config.baseUrl, accessToken })
  const me = await workspace.me()
  const leave = showInbox({ workspace, me, onEnded: (error) => disconnect(reasonOf(error)) })
  showAccount(me, () => {
    leave()
    disconnect(
      'This page has deleted its access token. To revoke the token itself, ask an admin to do it in the dashboard.',
    )
  })
}

/** Shows the login page. The token was only referenced by the inbox, so removing the inbox deletes it. */
function disconnect(reason?: string): void {
  part('account').replaceChildren()
  showConnect(app, reason)
}

function reasonOf(error: unknown): string {
  if (error instanceof AuthenticationError) return 'The connection has ended: an admin revoked it, or it has expired.'
  if (error instanceof LoginError && error.reason === 'access_denied')
    return 'Access was denied. No workspace is connected.'
  return error instanceof Error ? error.message : String(error)
}
