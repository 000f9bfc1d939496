import { AlreadyExistsError } from 'support-workspace-sdk'
import { body_html, newest, run, workspace } from './client.mjs'

// Wrong: it repeats a write whose result is unknown.
await run(async () => {
  for (const email of ['ada@example.com', 'grace@example.com']) {
    await workspace.contacts.create({ email }).catch((error) => {
      if (!(error instanceof AlreadyExistsError)) throw error
    })
  }
  const [{ id }] = await newest()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await workspace.notes.create(id, { body_html })
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
})
