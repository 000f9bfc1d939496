import { setTimeout as wait } from 'node:timers/promises'
import { newest, run, workspace } from './client.mjs'

// Wrong: it retries without a limit.
await run(async () => {
  for (;;) {
    try {
      const [{ id }] = await newest()
      return await workspace.conversations.update(id, { pinned: true })
    } catch {
      await wait(60_000)
    }
  }
})
