import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { json, makeClient, refusal, scripted } from '../helpers/client.ts'

const section =
  readFileSync('CONTRIBUTING.md', 'utf8').match(/## A call, from method to response\n[\s\S]*?(?=\n## )/)?.[0] ?? ''
const stations = [...section.matchAll(/^\| \d+ \| `([\w.#]+)` \| `(src\/[\w/.-]+)` \|/gm)].map(([, name, file]) => ({
  name: name ?? '',
  file: file ?? '',
}))
/** The other files, at the start of a line. */
const helpers = [...section.matchAll(/^- ([^:]+):/gm)].flatMap(([, files = '']) => files.match(/src\/[\w/.-]+/g) ?? [])

/** Returns the functions of src that run, by file. */
async function trace(run: () => Promise<unknown>): Promise<ReadonlyMap<string, readonly string[]>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await run()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const ran = result.flatMap(({ url, functions }) => {
    const file = url.match(/src\/.+\.ts/)?.[0]
    const entered = functions.filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
    const names = entered.map(({ functionName }) => functionName)
    return file === undefined || names.length === 0 ? [] : [[file, names] as const]
  })
  return new Map(ran)
}

test('a call passes the stations of CONTRIBUTING.md, and runs no file that is not listed there', async () => {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
  const created = json({ data: { id: 'c' } })
  const workspace = makeClient({ fetch: scripted(created, refusal(429, 'slow_down'), created) })
  // The first call loads the schemas.
  await workspace.contacts.create({ email: 'ada@example.com' })
  const ran = await trace(() => workspace.contacts.create({ email: 'ada@example.com' }))
  for (const { name, file } of stations) expect(ran.get(file), `${name} in ${file}`).toContain(name.split('.').at(-1))
  expect([...ran.keys()].sort()).toEqual([...new Set([...stations.map(({ file }) => file), ...helpers])].sort())
  expect(stations).toHaveLength(9)
})
