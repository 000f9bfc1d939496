import type { PublicOAuthApp } from 'support-workspace-sdk/oauth'
import { element, part } from './elements.ts'
import { startLogin } from './login.ts'

/** Shows the page that starts a login, with the reason why there is no connection, if there is one. */
export function showConnect(app: PublicOAuthApp, reason?: string): void {
  part('content').className = ''
  part('content').replaceChildren(
    element(
      'section',
      { className: 'card' },
      ...(reason === undefined ? [] : [element('p', { className: 'notice', role: 'alert' }, reason)]),
      element('h1', {}, 'Connect your workspace'),
      element(
        'p',
        {},
        'Read and reply to your conversations here. You approve access in your workspace; this page never sees your password.',
      ),
      element(
        'p',
        { className: 'buttons' },
        element('button', { className: 'main', onclick: () => startLogin(app, 'self') }, 'Connect as yourself'),
        element('button', { onclick: () => startLogin(app, 'app') }, 'Connect as the app'),
      ),
      element(
        'p',
        { className: 'soft' },
        'As yourself, you can reply under your name. As the app, you can only read. The connection ends when you close or reload this page.',
      ),
    ),
  )
}
