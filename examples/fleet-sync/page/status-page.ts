import { html } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import type { ConnectionStatus } from '../database.ts'

/** Escaped HTML. `html` escapes every value that it includes. */
type Markup = HtmlEscapedString | Promise<HtmlEscapedString>

export interface StatusPage {
  connections: readonly ConnectionStatus[]
  /** Current time in milliseconds since the epoch. */
  now: number
  /** Shows only connections in this state whose organization or key contains the text. */
  filter?: { state?: string | undefined; search?: string | undefined }
}

// What needs a person comes first. The marks tell the states apart without their colors.
const states = {
  failed: { label: 'Failed', mark: '✕' },
  revoked: { label: 'Revoked', mark: '⊘' },
  delayed: { label: 'Delayed', mark: '◷' },
  syncing: { label: 'Syncing', mark: '▶' },
  waiting: { label: 'Waiting', mark: '…' },
  'up-to-date': { label: 'Up to date', mark: '✓' },
} satisfies Record<ConnectionStatus['state'] | 'up-to-date', { label: string; mark: string }>

type ShownState = keyof typeof states
const stateNames = Object.keys(states) as ShownState[]

export function statusPage({ connections, now, filter = {} }: StatusPage): Markup {
  const search = (filter.search ?? '').trim().toLowerCase()
  const shown = connections
    .filter((connection) => !filter.state || shownState(connection, now) === filter.state)
    .filter(({ key, organization }) => `${organization} ${key} ${idsIn(key)}`.toLowerCase().includes(search))
    .toSorted(
      (one, other) =>
        stateNames.indexOf(shownState(one, now)) - stateNames.indexOf(shownState(other, now)) ||
        Number(needsAttention(other)) - Number(needsAttention(one)) ||
        byName(one, other),
    )
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Fleet sync</title>
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="/style.css">
        <noscript><meta http-equiv="refresh" content="5"></noscript>
        <script src="/refresh.js" type="module"></script>
      </head>
      <body>
        <header>
          <h1>Fleet sync</h1>
          <nav><a href="/queues">Queue</a></nav>
          <p id="updated" class="soft">Updated ${time(now, clock.format(now))}</p>
          <button id="pause" type="button" hidden>Pause</button>
        </header>
        <main>
          ${totals(connections, now)}
          ${filters(connections, now, filter)}
          ${shown.length === 0 ? html`<p id="empty" class="soft">No connection matches.</p>` : table(shown, now)}
        </main>
      </body>
    </html>`
}

function totals(connections: readonly ConnectionStatus[], now: number): Markup {
  const completeTimes = connections.map(({ lastCompleteAt }) => lastCompleteAt).filter(isTime)
  const lags = connections.map((connection) => lagOf(connection, now))
  const needAttention = connections.filter(needsAttention).length
  return html`
    <dl id="totals">
      <div><dt>Connections</dt><dd>${number.format(connections.length)}</dd></div>
      <div class="${needAttention > 0 ? 'bad' : ''}"><dt>Need attention</dt><dd>${number.format(needAttention)}</dd></div>
      <div><dt>Items</dt><dd>${number.format(sum(connections.map(({ items }) => items)))}</dd></div>
      <div><dt>Sweeps</dt><dd>${number.format(sum(connections.map(({ completeSweeps }) => completeSweeps)))}</dd></div>
      <div><dt>Oldest sweep</dt><dd>${completeTimes.length === 0 ? '–' : relative(Math.min(...completeTimes), now)}</dd></div>
      <div><dt>Largest lag</dt><dd>${duration(Math.max(0, ...lags))}</dd></div>
    </dl>`
}

function filters(
  connections: readonly ConnectionStatus[],
  now: number,
  { state: current, search = '' }: NonNullable<StatusPage['filter']>,
): Markup {
  const counts = Map.groupBy(connections, (connection) => shownState(connection, now))
  const link = (state: string, label: string, count: number) => {
    const query = new URLSearchParams({ ...(state && { state }), ...(search && { search }) }).toString()
    const isCurrent = (current ?? '') === state
    return html`<a href="/${query && `?${query}`}" ${isCurrent ? html`aria-current="true"` : ''}>${label} <span>${count}</span></a>`
  }
  return html`
    <div class="filters">
      <nav id="states" aria-label="State">
        ${link('', 'All', connections.length)}
        ${stateNames.map((state) => link(state, states[state].label, counts.get(state)?.length ?? 0))}
      </nav>
      <form role="search">
        ${current ? html`<input type="hidden" name="state" value="${current}">` : ''}
        <input type="search" name="search" value="${search}" placeholder="Find an organization" aria-label="Organization">
        <button>Find</button>
      </form>
    </div>`
}

function table(connections: readonly ConnectionStatus[], now: number): Markup {
  return html`
    <table>
      <caption class="hidden">Connections</caption>
      <thead>
        <tr>
          <th scope="col">Organization</th>
          <th scope="col">State</th>
          <th scope="col">Running sweep</th>
          <th scope="col" class="number">Items</th>
          <th scope="col" class="number">Last sweep</th>
          <th scope="col" class="number">Next run</th>
        </tr>
      </thead>
      <tbody id="connections">${connections.map((connection) => row(connection, now))}</tbody>
    </table>`
}

function row(connection: ConnectionStatus, now: number): Markup {
  const { key, organization, items, completeSweeps, lastCompleteAt, problem } = connection
  const state = shownState(connection, now)
  const { label, mark } = states[state]
  return html`
    <tr id="connection-${key}">
      <th scope="row"><bdi>${organization}</bdi><span class="soft key" title="${key}"><bdi>${idsIn(key)}</bdi></span></th>
      <td class="state">
        <span class="tag ${state}"><span aria-hidden="true">${mark}</span> ${label}</span>
        ${problem === undefined ? '' : html`<bdi class="problem">${problem}</bdi>`}
      </td>
      <td class="sweep">${progress(connection)}</td>
      <td class="number" data-label="Items">${number.format(items)}</td>
      <td class="number" data-label="Last sweep">
        ${lastCompleteAt === undefined ? 'never' : relative(lastCompleteAt, now)}
        <span class="soft">${completeSweeps === 1 ? '1 sweep' : `${number.format(completeSweeps)} sweeps`}</span>
      </td>
      <td class="number" data-label="Next run">${nextRun(connection, now)}</td>
    </tr>`
}

function progress({ organization, state, sweepItems, items, completeSweeps }: ConnectionStatus): Markup {
  if (state !== 'syncing' && state !== 'delayed') return html``
  // The first sweep has no earlier one to compare with.
  if (completeSweeps === 0) return html`<span class="soft count">${number.format(sweepItems)} so far</span>`
  const total = Math.max(items, sweepItems)
  return html`
    <progress value="${sweepItems}" max="${Math.max(total, 1)}" aria-label="Sweep of ${organization}"></progress>
    <span class="soft count">${number.format(sweepItems)} of ${number.format(total)}</span>`
}

/** Returns the state of a connection. One that waits has nothing to do until its next run, unless its sweep is incomplete or late. */
function shownState(connection: ConnectionStatus, now: number): ShownState {
  const { state, completeSweeps, nextRunAt } = connection
  const isUpToDate =
    state === 'waiting' && completeSweeps > 0 && nextRunAt !== undefined && lagOf(connection, now) === 0
  return isUpToDate ? 'up-to-date' : state
}

/** Returns the ids of the organization and the user in the key of a connection, or the whole text if it is not a key. */
function idsIn(key: string): string {
  const [, organization, user] = /^(?:app|self)\.[^.]+\.([^.]+)(?:\.([^.]+))?$/.exec(key) ?? []
  if (organization === undefined) return key
  // `=5f` is an underscore. A long id is only there as a digest, which starts with `==`.
  const decode = (id: string) =>
    id.replaceAll(/(?<!=)=([2-6][0-9a-f])/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return [organization, ...(user === undefined ? [] : [user])].map(decode).join(' · ')
}

/** Whether a person must act. A sweep that skipped something has a problem in any state; a delay ends without help. */
function needsAttention({ state, problem }: ConnectionStatus): boolean {
  return state === 'failed' || state === 'revoked' || (problem !== undefined && state !== 'delayed')
}

function nextRun(connection: ConnectionStatus, now: number): Markup | string {
  if (connection.state === 'syncing') return 'running'
  if (connection.nextRunAt === undefined) return '–'
  const lag = lagOf(connection, now)
  return lag > 0 ? html`<strong class="late">${duration(lag)} late</strong>` : relative(connection.nextRunAt, now)
}

/** How long ago the next run should have started, in milliseconds. */
function lagOf({ state, nextRunAt }: ConnectionStatus, now: number): number {
  return state === 'syncing' || !isTime(nextRunAt) || now - nextRunAt < 1_000 ? 0 : now - nextRunAt
}

const number = new Intl.NumberFormat('en')
const clock = new Intl.DateTimeFormat('en', { timeStyle: 'long', hourCycle: 'h23', timeZone: 'UTC' })
const relativeTime = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' })
const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** Whether a date can show the time. A single one that cannot must not fail the page. */
function isTime(at: number | undefined): at is number {
  return at !== undefined && !Number.isNaN(new Date(at).getTime())
}

function relative(at: number, now: number): Markup {
  if (!isTime(at)) return html`unknown`
  const [unit, size] = unitOf(Math.abs(at - now))
  return time(at, relativeTime.format(Math.trunc((at - now) / size), unit))
}

function duration(milliseconds: number): string {
  const [unit, size] = unitOf(milliseconds)
  return `${number.format(Math.trunc(milliseconds / size))}${unit[0]}`
}

function unitOf(milliseconds: number): (typeof units)[number] {
  return units.find(([, size]) => milliseconds >= size) ?? ['second', 1_000]
}

function time(at: number, text: string): Markup {
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}" title="${iso}">${text}</time>`
}

function byName(one: ConnectionStatus, other: ConnectionStatus): number {
  return one.organization.localeCompare(other.organization, 'en', { numeric: true }) || one.key.localeCompare(other.key)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
