// Keeps the console live. Without this script its links and forms load the page again.

const { Idiomorph } = globalThis
const live = document.getElementById('live')
let events
let isRefreshing = false
// One request after another, so that an older page never replaces a newer one.
let queue = Promise.resolve()

/**
 * Loads this view and shows what changed. Of the forms, only one that is sent is replaced, with its section. What was done is
 * announced, and the focus of a button that is gone moves to the title of its section.
 */
async function load(form) {
  const section = form?.closest('section')
  try {
    const init = form && { method: 'POST', body: new URLSearchParams(new FormData(form)) }
    const response = await fetch(form?.action ?? location.href, init)
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    if (response.redirected) history.replaceState(null, '', response.url)
    for (const old of [...document.querySelectorAll('[data-live]'), ...(section ? [section] : [])]) {
      // A user opens and closes `details`, and types, which the server does not know.
      Idiomorph.morph(old, page.getElementById(old.id), {
        callbacks: {
          beforeAttributeUpdated: (name) => name !== 'open',
          beforeNodeMorphed: (node) =>
            form?.contains(node) || !node.matches?.('input') || node.value === node.defaultValue,
        },
      })
    }
  } catch {
    showLive('disconnected')
  }
  const invalid = section?.querySelector('[aria-invalid]')
  invalid?.focus()
  if (form === undefined || invalid) return
  announce(form.dataset.done)
  if (document.activeElement === document.body) section?.querySelector('h2')?.focus()
}

/** Loads this view again, at most ten times a second. */
function refresh() {
  if (isRefreshing) return
  isRefreshing = true
  queue = queue.then(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    isRefreshing = false
    // A page that lost its connection loads again with the first event of the next one.
    if (events.readyState === EventSource.OPEN) await load()
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
  events.onerror = () => {
    showLive('disconnected')
    // Browsers try again after a lost connection, but not all of them after a refused one.
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 1_000)
  }
}

function showLive(text) {
  live.textContent = text
  live.classList.toggle('good', text === 'live')
}

function announce(text) {
  const notice = document.getElementById('notice')
  notice.textContent = text
  setTimeout(() => notice.replaceChildren(), 2_000)
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    announce('Copied')
  } catch {
    // Only secure origins have a clipboard: https, and http on this machine.
    prompt('Press Ctrl+C or ⌘C to copy', text)
  }
}

addEventListener('click', (event) => {
  const button = event.target.closest('[data-copy]')
  if (button !== null) void copy(button.dataset.copy)
  const link = event.target.closest('[data-live] a')
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  history.pushState(null, '', link.href)
  queue = queue.then(() => load())
})

addEventListener('submit', (event) => {
  const form = event.target.closest('[data-inline]')
  if (form === null) return
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
