import { html } from 'hono/html'
import { describeFault, describeMatch, readFault } from '../faults/fault-text.ts'
import type { Markup } from '../html-page.ts'
import { actionButton, link, section, type View } from './view.ts'

/** Returns the form that injects a fault, and the active faults. */
export function faultsSection(view: View): Markup {
  const sent = view.url.searchParams.get('fault')
  const form = new URLSearchParams(sent ?? 'status=503&times=1')
  const problem = sent === null ? undefined : readFaultForm(form).problem
  const faults = view.faults.list()
  const presets = Object.entries(examples).map(([name, fault]) => {
    return html`<a href="${link(view, { fault }, 'faults')}">${name}</a> `
  })
  return section(
    'Faults',
    html`<p class="bar soft">For example ${presets}</p>
<form method="post" action="/_sandbox/faults" class="fault-form" data-inline data-done="Added">
<div class="fields">
${choice('kind', 'Kind', kinds, 'wide')}
${input('status', 'Status', '', 'for-status')}
${input('retry-after', 'Retry-After (seconds)', 'none', 'for-status')}
${choice('effect', 'Takes effect', effects, 'for-status')}
${choice('drop', 'When', drops, 'for-drop wide')}
${input('drip', 'Bytes / milliseconds', '16/500', 'for-drip wide')}
${input('late-effect', 'Takes effect later (ms)', 'never')}
${input('latency', 'Latency (ms)', 'none')}
${choice('method', 'Method', methods)}
${input('path', 'Path contains', '/messages')}
${input('times', 'Times, or “all”', '1')}
${input('after', 'Skip first', '0')}
${input('probability', 'Probability', '1')}
${input('seed', 'Seed of the probability', '1')}
</div>
${errorAt(undefined)}
<button class="primary">Add fault</button>
</form>
<div id="active-faults" data-live>
<h3>Active faults</h3>
${
  faults.length === 0
    ? html`<p class="soft">None. Every request gets a normal response.</p>`
    : html`<ul class="rows">${faults.map(activeFault)}</ul>`
}
</div>`,
    { title: 'Inject a fault' },
  )

  function input(name: string, label: string, placeholder: string, className = ''): Markup {
    const value = form.get(name) ?? ''
    return html`<label class="${className}">${label}
<input name="${name}" value="${value}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"${invalid(name)}>
${errorAt(name)}</label>`
  }

  function choice(name: string, label: string, options: Readonly<Record<string, string>>, className = ''): Markup {
    return html`<label class="${className}">${label}
<select name="${name}"${invalid(name)}>${Object.entries(options).map(([value, text]) => {
      return html`<option value="${value}"${form.get(name) === value && html` selected`}>${text}</option>`
    })}</select>${errorAt(name)}</label>`
  }

  function invalid(name: string): Markup | false {
    return problem?.field === name && html` aria-invalid="true" aria-describedby="fault-error" autofocus`
  }

  function errorAt(name: string | undefined): Markup | false {
    return problem?.field === name && html`<span class="error" id="fault-error">${problem?.message}</span>`
  }
}

/** Faults that fill in the form. */
const examples = {
  'rate limit': 'kind=status&status=429&retry-after=2&times=3',
  outage: 'kind=status&status=503&times=all',
  'revoked token': 'kind=status&status=401&times=1',
  'lost response': 'kind=drop&drop=after-effect&method=POST&times=1',
  'slow network': 'kind=latency&latency=3000&times=all',
  'every third fails': 'kind=status&status=500&probability=0.33&times=all',
}

const effects = { '': 'No', true: 'Yes' }

const kinds = {
  status: 'Error status',
  drop: 'Dropped connection',
  truncate: 'Truncated body',
  garbage: 'HTML instead of JSON',
  stall: 'Stalled body',
  drip: 'Dripping body',
  latency: 'Only latency',
}

const drops = {
  'before-effect': 'Before the effect',
  'after-effect': 'After the effect',
  'mid-headers': 'In the headers',
  'mid-body': 'In the body',
}

const methods = { '': 'Any', GET: 'GET', POST: 'POST', PATCH: 'PATCH', DELETE: 'DELETE' }

/**
 * Reads the form. Returns a rule, or why the form has none and the field that caused it. The fields of another kind are
 * ignored, because the page only hides them.
 */
export function readFaultForm(form: URLSearchParams) {
  const { kind, ...fields } = Object.fromEntries([...form].filter(([, value]) => value !== ''))
  if (kind !== 'status') for (const name of ['status', 'retry-after', 'effect']) delete fields[name]
  if (kind !== 'drop') delete fields.drop
  if (kind !== 'drip') delete fields.drip
  if (kind === 'truncate' || kind === 'garbage' || kind === 'stall') fields[kind] = 'true'
  try {
    return { rule: readFault(fields) }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const [, name] = /^The fault option `(\w+)`/.exec(error.message) ?? []
    const message = error.message.replace(/^The fault option `\w+` must/, 'Must')
    return { problem: { field: name?.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), message } }
  }
}

function activeFault({ id, rule, skips, times }: ReturnType<View['faults']['list']>[number]): Markup {
  const fault = describeFault(rule)
  const match = describeMatch(rule)
  const when = [
    match === '' ? 'any request' : match,
    Number.isFinite(times) ? `${times} more ${times === 1 ? 'time' : 'times'}` : 'every time',
    ...(skips > 0 ? [`after ${skips} more`] : []),
  ].join(', ')
  const button = html`<button class="small" aria-label="Remove ${fault}">Remove</button>`
  return html`<li id="fault-${id}" class="copied"><span><code>${fault}</code><br><span class="soft">${when}</span></span>
${actionButton('faults/remove', { id: String(id) }, button, 'Removed')}</li>`
}
