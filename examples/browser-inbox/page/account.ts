import type { Me } from 'support-workspace-sdk'
import { element, part } from './elements.ts'

/** Shows the account of the token: organization, actor and scopes. */
export function showAccount({ organization, actor, user, scopes }: Me, onDisconnect: () => void): void {
  const who = actor === 'self' ? `as ${user?.name ?? 'yourself'}` : 'as the app'
  part('account').replaceChildren(
    element(
      'details',
      { className: 'account' },
      element(
        'summary',
        {},
        element('strong', {}, organization?.display_name ?? 'Workspace'),
        ' ',
        element('span', { className: 'soft' }, who),
      ),
      element(
        'div',
        { className: 'menu' },
        element('p', { className: 'soft' }, `Actor “${actor}”, with access to`),
        element('ul', { className: 'scopes' }, ...(scopes ?? []).map((scope) => element('li', {}, scope))),
        element('button', { onclick: onDisconnect }, 'Disconnect'),
      ),
    ),
  )
}
