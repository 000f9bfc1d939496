/**
 * The script of the page. It loads the page again when something has changed, unless a person is typing or has selected
 * text, and keeps what was opened.
 */
export const reloadScript = `
const opened = new Set(JSON.parse(sessionStorage.getItem('opened') ?? '[]'))
for (const each of document.querySelectorAll('details[id]')) {
  if (opened.has(each.id) || location.hash === '#' + each.id) each.open = true
  each.addEventListener('toggle', () => {
    if (each.open) opened.add(each.id)
    else opened.delete(each.id)
    sessionStorage.setItem('opened', JSON.stringify([...opened]))
  })
}
const fields = [...document.querySelectorAll('input:not([type="hidden"])')]
const isBusy = () =>
  String(getSelection()) !== '' || fields.some((field) => field.value !== '' || field === document.activeElement)
const { version } = document.querySelector('main').dataset
setInterval(async () => {
  if (document.hidden || isBusy()) return
  const now = await fetch('/_sandbox/version').then((response) => response.text(), () => version)
  if (now !== version && !isBusy()) location.reload()
}, 1_000)
`
