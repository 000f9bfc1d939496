// Loads the page again every two seconds and replaces only what has changed, so that focus, selection and scrolling stay.

const period = 2_000
const pause = document.getElementById('pause')
let paused = false

pause.hidden = false
pause.addEventListener('click', () => {
  paused = !paused
  pause.textContent = paused ? 'Resume' : 'Pause'
})

async function refresh() {
  const response = await fetch(location.href)
  if (!response.ok) throw new Error(`The server responded with ${response.status}.`)
  const next = new DOMParser().parseFromString(await response.text(), 'text/html')
  for (const id of ['updated', 'totals', 'states']) replace(document.getElementById(id), next.getElementById(id))
  const [table, nextTable] = [document, next].map((page) => page.getElementById('connections'))
  // A list that was or becomes empty has other markup around it.
  if (table === null || nextTable === null) return replace(document.querySelector('main'), next.querySelector('main'))
  const rows = new Map([...table.children].map((row) => [row.id, row]))
  const nextRows = [...nextTable.children]
  if (nextRows.length === rows.size && nextRows.every((row, index) => row.id === table.children[index].id)) {
    for (const row of nextRows) replace(rows.get(row.id), row)
  } else replace(table, nextTable)
}

function replace(element, next) {
  if (!element.isEqualNode(next)) element.replaceWith(next)
}

async function refreshForever() {
  while (true) {
    await new Promise((resolve) => setTimeout(resolve, period))
    if (paused || document.hidden) continue
    await refresh().catch(() => {
      document.getElementById('updated').textContent = 'The server does not respond.'
    })
  }
}

refreshForever()
