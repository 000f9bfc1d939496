import { Session } from 'node:inspector/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { json, makeClient, page, refusal, scripted } from '../helpers/client.ts'

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

/** Returns how many functions of how many files run in a call whose schemas are loaded. */
async function count(run: (workspace: ReturnType<typeof makeClient>) => Promise<unknown>, ...steps: Response[]) {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
  const workspace = makeClient({ fetch: scripted(json({ data: { id: 'c' } }), ...steps) })
  await workspace.contacts.create({ email: 'ada@example.com' })
  const ran = [...(await trace(() => run(workspace))).values()]
  return { functions: ran.flat().length, files: ran.length }
}

test('a call that is repeated once runs few functions of few files', async () => {
  const created = json({ data: { id: 'c' } })
  const create = (workspace: ReturnType<typeof makeClient>) => workspace.contacts.create({ email: 'ada@example.com' })
  const { functions, files } = await count(create, refusal(429, 'slow_down'), created)
  expect(functions).toBeLessThanOrEqual(152)
  expect(files).toBeLessThanOrEqual(36)
})

test('a call that succeeds at once runs fewer', async () => {
  const created = json({ data: { id: 'c' } })
  const { functions, files } = await count(
    (workspace) => workspace.contacts.create({ email: 'ada@example.com' }),
    created,
  )
  expect(functions).toBeLessThanOrEqual(104)
  expect(files).toBeLessThanOrEqual(27)
})

test('so does a list of three pages', async () => {
  const read = async (workspace: ReturnType<typeof makeClient>) => {
    for await (const _ of workspace.conversations.list());
  }
  const { functions, files } = await count(
    read,
    json(page([{ id: '1' }], 'a')),
    json(page([{ id: '2' }], 'b')),
    json(page([])),
  )
  expect(functions).toBeLessThanOrEqual(120)
  expect(files).toBeLessThanOrEqual(28)
})
