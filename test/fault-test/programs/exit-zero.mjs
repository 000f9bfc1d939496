import { body_html, newest, workspace } from './client.mjs'

// Wrong: it says that it is done after every error.
try {
  const [{ id }] = await newest()
  await workspace.messages.create(id, { body_html })
  await workspace.notes.create(id, { body_html })
} catch (error) {
  console.error(error.message)
}
