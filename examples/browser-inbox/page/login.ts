import {
  type Actor,
  type PublicOAuthApp,
  parseTransaction,
  scopesFor,
  serializeTransaction,
} from 'support-workspace-sdk/oauth'
import type { ExchangeResponse } from '../site.ts'

/** The key in `sessionStorage`, which each tab has for itself, so two tabs can log in at the same time. */
const storageKey = 'login'

/** Redirects the browser to the consent page of the service. */
export async function startLogin(app: PublicOAuthApp, actor: Actor): Promise<void> {
  const scope = scopesFor('conversations.list', 'messages.list', 'messages.create')
  const { url, transaction } = await app.startLogin({ scope, actor })
  sessionStorage.setItem(storageKey, serializeTransaction(transaction))
  location.assign(url)
}

/** Whether the service has redirected the browser back to this page. */
export function isCallback(app: PublicOAuthApp): boolean {
  return location.pathname === new URL(app.redirectUri).pathname
}

/**
 * Checks the callback and lets the server exchange the code. Keep the access token in memory only: an injected script
 * could read it from `localStorage` or from a cookie.
 */
export async function finishLogin(app: PublicOAuthApp): Promise<string> {
  const callback = location.href
  const saved = sessionStorage.getItem(storageKey)
  // Both can be used only once. The code is also removed from the address bar, so a reload does not send it again.
  sessionStorage.removeItem(storageKey)
  history.replaceState(null, '', '/')
  const grant = app.readCallback(callback, parseTransaction(saved))
  const response = await fetch('/exchange', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(grant),
  })
  const body: ExchangeResponse = await response.json()
  if ('error' in body) throw new Error(body.error)
  return body.accessToken
}
