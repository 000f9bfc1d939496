import type { ConsoleState } from './console-state.ts'

/**
 * The script of the console's pages. The page runs the text of this function, so it must not use anything outside of it.
 * Text of the service reaches the page only through `textContent`.
 */
export function consoleScript(): void {
  const element = <Type extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as Type
  let noticeTimer: ReturnType<typeof setTimeout> | undefined

  function notify(text: string): void {
    element('notice').textContent = text
    clearTimeout(noticeTimer)
    noticeTimer = setTimeout(() => {
      element('notice').textContent = ''
    }, 4_000)
  }

  document.addEventListener('click', (event) => {
    const button = (event.target as Element).closest<HTMLElement>('[data-copy]')
    if (button !== null) void copy(element(button.dataset.copy ?? ''))
  })

  async function copy(source: HTMLElement): Promise<void> {
    const text = source.dataset.text ?? source.textContent ?? ''
    try {
      await navigator.clipboard.writeText(text)
      notify('Copied')
    } catch {
      // Only secure origins have a clipboard. With plain http these are localhost and its addresses.
      getSelection()?.selectAllChildren(source)
      notify('Press Ctrl+C or ⌘C to copy')
    }
  }

  // The page that a login ends on only needs the buttons that copy.
  if (document.getElementById('log') === null) return

  let state: ConsoleState
  let isReading = false
  let isStale = false
  let table = 0
  let organization = ''
  const shown = new Map<string, string>()

  let events: EventSource | undefined
  document.addEventListener('visibilitychange', followEvents)
  followEvents()
  // Tests and programs also issue tokens and add faults without a request.
  addEventListener('focus', () => void read())

  /** Opens the stream of events, whose first one reads the state. A hidden page closes it: browsers allow six per host. */
  function followEvents(): void {
    events?.close()
    events = undefined
    if (document.visibilityState === 'hidden') return
    events = new EventSource('/_sandbox/events')
    events.onmessage = () => {
      showLive('live', true)
      void read()
    }
    events.onerror = () => showLive('disconnected', false)
  }

  function showLive(text: string, on: boolean): void {
    element('live').textContent = text
    element('live').classList.toggle('on', on)
  }

  /** Reads the state, and once more if it changed meanwhile. */
  async function read(): Promise<void> {
    isStale = true
    if (isReading) return
    isReading = true
    while (isStale) {
      isStale = false
      try {
        const response = await fetch(`/_sandbox/state?${new URLSearchParams({ organization })}`)
        state = await response.json()
        render()
      } catch {
        showLive('disconnected', false)
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    isReading = false
  }

  async function send(path: string, body: Record<string, string>): Promise<Record<string, string> | undefined> {
    try {
      const response = await fetch(`/_sandbox/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const result: Record<string, string> = await response.json()
      if (response.ok) return result
      notify(result.error_description ?? 'The sandbox refused the request.')
    } catch {
      notify('The sandbox is not reachable. Start it again.')
    }
    return undefined
  }

  function create(tag: string, options: Record<string, string> = {}, ...children: (Node | string)[]): HTMLElement {
    const created = document.createElement(tag)
    for (const [name, value] of Object.entries(options)) created.setAttribute(name, value)
    created.append(...children)
    return created
  }

  function button(text: string, label: string, kind: string, onClick: () => void): HTMLElement {
    const created = create('button', { type: 'button', class: `small ${kind}`, 'aria-label': label }, text)
    created.addEventListener('click', onClick)
    return created
  }

  /** Replaces the children of an element if the data changed, so that the focus stays where it is otherwise. */
  function fill<Item>(target: HTMLElement, items: readonly Item[], toNode: (item: Item, index: number) => Node): void {
    const text = JSON.stringify(items)
    const key = target.id || `${target.closest('table')?.id} ${target.tagName}`
    if (shown.get(key) === text) return
    shown.set(key, text)
    target.replaceChildren(...items.map(toNode))
  }

  /** Text in code style that can break after a colon or a comma. */
  function breakable(text: string): Node {
    const parts = text.split(/(?<=[:,])/).flatMap((part) => [part, create('wbr')])
    return create('code', {}, ...parts)
  }

  const bodyOf = (id: string) => element(id).querySelector('tbody') as HTMLElement
  const timeOf = (at: number) => new Date(at).toTimeString().slice(0, 8)

  function render(): void {
    element('base-url').textContent = location.origin
    element('client-id').textContent = state.app.clientId
    element('client-secret').textContent = state.app.clientSecret
    fill(element('redirect-uris'), state.app.redirectUris, (uri) => create('li', {}, create('code', {}, uri)))
    fill(element('tokens'), state.tokens, tokenRow)
    fill(bodyOf('log'), state.requests, requestRow)
    element('log').hidden = state.requests.length === 0
    element('log-empty').hidden = state.requests.length > 0
    fill(bodyOf('connections'), state.connections, connectionRow)
    element('connections').hidden = state.connections.length === 0
    element('connections-empty').hidden = state.connections.length > 0
    element('more-connections').textContent = state.moreConnections > 0 ? `And ${state.moreConnections} more.` : ''
    fill(element('faults'), state.faults.length === 0 ? [null] : state.faults, faultRow)
    renderData()
  }

  function tokenRow({ actor, person, value, valid }: ConsoleState['tokens'][number]): Node {
    const id = `token-${actor}`
    const about = create('p', {}, create('span', { class: 'tag' }, `actor=${actor}`), ` ${person ?? 'The app'}`)
    const buttons = create('span', { class: 'buttons' })
    const code = create('code', { id, class: 'value' }, value)
    const row = create('div', { class: valid ? 'token' : 'token revoked' }, about, code, buttons)
    if (valid) {
      const curl = create('span', { id: `${id}-curl`, hidden: '' })
      curl.dataset.text = `curl -H 'Authorization: Bearer ${value}' '${location.origin}/api/oauth/v1/me'`
      row.append(curl)
      buttons.append(
        create(
          'button',
          { type: 'button', class: 'small', 'data-copy': id, 'aria-label': `Copy ${actor} token` },
          'Copy',
        ),
        create(
          'button',
          {
            type: 'button',
            class: 'small',
            'data-copy': curl.id,
            'aria-label': `Copy as curl with the ${actor} token`,
          },
          'Copy as curl',
        ),
      )
    } else {
      about.append(' ', create('span', { class: 'tag bad' }, 'revoked'))
      buttons.append(button('Issue again', `Issue the ${actor} token again`, '', () => void send('tokens', { actor })))
    }
    return row
  }

  function requestRow(request: ConsoleState['requests'][number]): Node {
    const { at, method, path, status, scope, actor, fault } = request
    const kind = status === undefined || status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'
    const faultTag = fault === undefined ? [] : [create('span', { class: 'tag bad' }, breakable(fault))]
    return create(
      'tr',
      {},
      create('td', { class: 'time' }, timeOf(at)),
      create('td', {}, create('span', { class: `tag ${kind}` }, status === undefined ? 'dropped' : String(status))),
      create('td', { class: 'path', 'data-wide': '' }, create('code', {}, `${method} ${path}`)),
      create('td', {}, ...(scope === undefined ? [] : [breakable(scope)])),
      create('td', {}, ...(actor === undefined ? [] : [actor])),
      create('td', { 'data-wide': '' }, ...faultTag),
    )
  }

  function connectionRow(connection: ConsoleState['connections'][number]): Node {
    const { id, app, organization: name, actor, person, scopes, fromLogin, issuedAt } = connection
    const who = person ?? 'The app'
    const revoke = button('Revoke', `Revoke ${app} in ${name}, ${who}`, 'danger', async () => {
      if ((await send('revoke', { id })) !== undefined) notify('Revoked')
    })
    const origin = create('span', { class: 'soft' }, fromLogin ? 'by a login' : 'by the sandbox')
    return create(
      'tr',
      {},
      create('td', {}, app),
      create('td', {}, name),
      create('td', {}, create('span', { class: 'tag' }, actor), create('span', { class: 'soft' }, who)),
      create('td', { title: scopes.join(' ') }, scopes.length > 2 ? `${scopes.length} scopes` : scopes.join(' ')),
      create('td', { class: 'time' }, timeOf(issuedAt), origin),
      create('td', {}, revoke),
    )
  }

  function faultRow(active: ConsoleState['faults'][number] | null): Node {
    if (active === null) return create('li', { class: 'soft' }, 'None. Every request gets a normal response.')
    const { id, fault, match, skips, times } = active
    const when = [
      match === '' ? 'any request' : match,
      times === 'all' ? 'every time' : `${times} more ${times === 1 ? 'time' : 'times'}`,
      ...(skips > 0 ? [`after ${skips} more`] : []),
    ].join(', ')
    return create(
      'li',
      {},
      create('span', {}, create('code', {}, fault), create('br'), create('span', { class: 'soft' }, when)),
      button('Remove', `Remove ${fault}`, '', () => void send('faults/remove', { id: String(id) })),
    )
  }

  function renderData(): void {
    const select = element<HTMLSelectElement>('organization')
    fill(select, state.organizations, ({ id, name }) => create('option', { value: id }, name))
    select.value = state.data.organization
    const names = state.data.tables.map(({ name, total }, index) => ({ name, total, pressed: index === table }))
    fill(element('tables'), names, ({ name, total, pressed }, index) => {
      const tab = button(`${name} ${total}`, `${name}, ${total}`, '', () => {
        table = index
        renderData()
        element('tables').querySelectorAll('button')[index]?.focus()
      })
      tab.setAttribute('aria-pressed', String(pressed))
      return tab
    })
    const current = state.data.tables[table]
    if (current === undefined) return
    const { columns, rows, total } = current
    const head = element('data').querySelector('thead') as HTMLElement
    fill(head, [columns], (names) => {
      return create('tr', {}, ...names.map((name) => create('th', { scope: 'col' }, name)))
    })
    fill(bodyOf('data'), rows, (cells) => {
      return create('tr', {}, ...cells.map((cell, index) => dataCell(cell, index)))
    })
    const more = total - rows.length
    element('data-more').textContent = total === 0 ? 'This list is empty.' : more > 0 ? `And ${more} more.` : ''
  }

  function dataCell(text: string, index: number): Node {
    return create('td', { 'data-wide': '' }, index === 0 ? create('code', {}, text) : text)
  }

  element('organization').addEventListener('change', (event) => {
    organization = (event.target as HTMLSelectElement).value
    void read()
  })

  const loginForm = element<HTMLFormElement>('login-form')
  const selectedScopes = () => new FormData(loginForm).getAll('scope').map(String)
  const showScopeCount = () => {
    element('scope-count').textContent = `${selectedScopes().length} selected`
  }
  loginForm.addEventListener('change', showScopeCount)
  showScopeCount()
  loginForm.addEventListener('submit', async (event) => {
    event.preventDefault()
    const actor = String(new FormData(loginForm).get('actor'))
    const started = await send('login/start', { actor, scope: selectedScopes().join(' ') })
    if (started?.location !== undefined) location.assign(started.location)
  })

  const faultForm = element<HTMLFormElement>('fault-form')
  const kindSelect = faultForm.elements.namedItem('kind') as HTMLSelectElement
  const showFields = () => {
    for (const label of faultForm.querySelectorAll<HTMLElement>('[data-kind]')) {
      label.hidden = label.dataset.kind !== kindSelect.value
      // A disabled field is neither sent nor required.
      for (const field of label.querySelectorAll<HTMLInputElement>('input, select')) field.disabled = label.hidden
    }
  }
  kindSelect.addEventListener('change', showFields)
  showFields()
  faultForm.addEventListener('submit', async (event) => {
    event.preventDefault()
    const fields: Record<string, string> = {}
    for (const [name, value] of new FormData(faultForm))
      if (value !== '' && name !== 'kind') fields[name] = String(value)
    const kind = kindSelect.value
    if (kind === 'truncate' || kind === 'garbage') fields[kind] = 'true'
    if ((await send('faults', fields)) !== undefined) notify('Fault added')
  })
}
