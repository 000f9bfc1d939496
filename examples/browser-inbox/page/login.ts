import {
  type Actor,
  type PublicOAuthApp,
  parseTransaction,
  scopesFor,
  serializeTransaction,
} from 'support-workspace-sdk/oauth'
import type { ExchangeAnswer } from '../site.ts'

/** Each tab has a `sessionStorage` of its own, so that two tabs can log in at once. */
const storageKey = 'login'

/** Sends the browser to the service, where the person decides. */
export async function startLogin(app: PublicOAuthApp, actor: Actor): Promise<void> {
  const scope = scopesFor('conversations.list', 'messages.list', 'messages.create')
  const { url, transaction } = await app.startLogin({ scope, actor })
  sessionStorage.setItem(storageKey, serializeTransaction(transaction))
  location.assign(url)
}

/** Whether the service has just sent the browser back. */
export function isCallback(app: PublicOAuthApp): boolean {
  return location.pathname === new URL(app.redirectUri).pathname
}

/**
 * Checks the callback, and has the server exchange the code. The access token is for this page's memory only: what is
 * in `localStorage` or a cookie can be read by whatever script gets in there one day.
 */
export async function finishLogin(app: PublicOAuthApp): Promise<string> {
  const callback = location.href
  const saved = sessionStorage.getItem(storageKey)
  // Both are good for one time. The code also leaves the address bar, and the way of a reload.
  sessionStorage.removeItem(storageKey)
  history.replaceState(null, '', '/')
  const grant = app.readCallback(callback, parseTransaction(saved))
  const response = await fetch('/exchange', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(grant),
  })
  const answer: ExchangeAnswer = await response.json()
  if ('error' in answer) throw new Error(answer.error)
  return answer.accessToken
}
