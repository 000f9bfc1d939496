// Loads the page again when the drafts have changed, unless somebody edits one. The page works without this.
const { version } = document.body.dataset
setInterval(async () => {
  const response = await fetch(`/version${location.search}`).catch(() => undefined)
  if (!response?.ok || (await response.text()) === version) return
  const isEdited = [...document.querySelectorAll('textarea')].some(({ value, defaultValue }) => value !== defaultValue)
  if (isEdited) document.querySelector('#changed').hidden = false
  else location.reload()
}, 2000)
