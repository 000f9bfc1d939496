// @ts-check
// Keeps the console live. Without this script its links and forms load the page again.

/** @type {{ Idiomorph: typeof import('idiomorph').Idiomorph }} */
const { Idiomorph } = Object(globalThis)
const live = document.getElementById('live')
const notice = /** @type {HTMLElement} */ (document.getElementById('notice'))
/** @type {EventSource | undefined} */
let events
/** The requests, one after another, so that an older page never replaces a newer one. */
let queue = Promise.resolve()
let isRefreshing = false

/**
 * Loads this view and shows what changed. Fields keep what is typed in them, except in the section whose form was sent.
 *
 * @param {HTMLFormElement} [form]
 */
async function load(form) {
  const section = form?.closest('section')
  const fields = form && [...new FormData(form)].map(([name, value]) => [name, String(value)])
  try {
    const response = await fetch(
      form?.action ?? location.href,
      fields && { method: 'POST', body: new URLSearchParams(fields) },
    )
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    if (response.redirected) history.replaceState(null, '', response.url)
    for (const old of [...document.querySelectorAll('[data-live]'), ...(section ? [section] : [])]) {
      const fresh = page.getElementById(old.id)
      // A user opens and closes `details`, which the server does not know.
      const callbacks = { beforeAttributeUpdated: (/** @type {string} */ name) => name !== 'open' }
      if (fresh !== null) Idiomorph.morph(old, fresh, { callbacks })
    }
  } catch {
    showLive('disconnected')
  }
  const wrong = section?.querySelector('[aria-invalid="true"]')
  if (wrong instanceof HTMLElement) wrong.focus()
}

/** Loads this view again, at most ten times a second. */
function refresh() {
  if (isRefreshing) return
  isRefreshing = true
  queue = queue.then(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    isRefreshing = false
    await load()
  })
}

/** Follows the events, whose first one comes at once. A hidden page does not: browsers allow six connections per host. */
function follow() {
  events?.close()
  if (document.visibilityState === 'hidden') return
  events = new EventSource('/_sandbox/events')
  events.onmessage = () => {
    showLive('live')
    refresh()
  }
  events.onerror = () => showLive('disconnected')
}

/** @param {string} text */
function showLive(text) {
  if (live !== null) live.textContent = text
  live?.classList.toggle('good', text === 'live')
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    notice.textContent = 'Copied'
    setTimeout(() => notice.replaceChildren(), 2_000)
  } catch {
    // Only secure origins have a clipboard: https, and http on this machine.
    prompt('Press Ctrl+C or ⌘C to copy', text)
  }
}

addEventListener('click', (event) => {
  if (!(event.target instanceof Element)) return
  const button = event.target.closest('[data-copy]')
  if (button !== null) void copy(button.getAttribute('data-copy') ?? '')
  const link = event.target.closest('[data-live] a')
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  history.pushState(null, '', link.getAttribute('href'))
  queue = queue.then(() => load())
})

addEventListener('submit', (event) => {
  const form = event.target
  if (!(form instanceof HTMLFormElement) || !form.matches('[data-inline]')) return
  event.preventDefault()
  queue = queue.then(() => load(form))
})

// Other pages of the console have only buttons that copy.
if (live !== null) {
  live.hidden = false
  document.addEventListener('visibilitychange', follow)
  addEventListener('popstate', refresh)
  // Tests and programs also issue tokens and add faults without a request.
  addEventListener('focus', refresh)
  follow()
}
