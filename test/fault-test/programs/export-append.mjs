import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { folder, run, workspace } from './client.mjs'

// Wrong: it appends a page, and then saves its checkpoint in place. No fault of a request shows it.
await run(async () => {
  const saved = await readFile(`${folder}/checkpoint`, 'utf8').catch(() => 'null')
  for await (const page of workspace.conversations
    .list({ limit: 4 }, { resumeFrom: JSON.parse(saved), prefetch: false })
    .pages()) {
    await appendFile(`${folder}/out.txt`, page.data.map(({ id }) => `${id}\n`).join(''))
    await writeFile(`${folder}/checkpoint`, JSON.stringify(page.checkpoint))
  }
})
