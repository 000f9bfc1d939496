import { readFile, rename, writeFile } from 'node:fs/promises'
import { folder, run, workspace } from './client.mjs'

async function save(name, text) {
  await writeFile(`${folder}/${name}.new`, text)
  await rename(`${folder}/${name}.new`, `${folder}/${name}`)
}

await run(async () => {
  const saved = await readFile(`${folder}/export.json`, 'utf8').catch(() => '{ "lines": [] }')
  let { lines, checkpoint = null } = JSON.parse(saved)
  if (!checkpoint?.done) {
    for await (const page of workspace.conversations.list({ limit: 4 }, { resumeFrom: checkpoint }).pages()) {
      lines = [...lines, ...page.data.map(({ id }) => id)]
      await save('export.json', JSON.stringify({ lines, checkpoint: page.checkpoint }))
    }
  }
  await save('out.txt', `${lines.join('\n')}\n`)
})
