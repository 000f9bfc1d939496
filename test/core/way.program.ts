// Counts the functions of src that run in a call, and prints them as JSON. Runs in a process of its own, because in a
// process with other tests, their timers would be counted, too.

import { Session } from 'node:inspector/promises'
import { SupportWorkspace } from '../../src/index.ts'

const created = () => Response.json({ data: { id: 'c' } })
const page = (after: string | null) => Response.json({ data: [{ id: 'c' }], page_metadata: { after, before: null } })

const create = (workspace: SupportWorkspace) => workspace.contacts.create({ email: 'ada@example.com' })
const list = async (workspace: SupportWorkspace) => {
  for await (const _ of workspace.conversations.list());
}

/** Returns how many functions of how many files run in a call, after a call that has loaded the schemas. */
async function count(run: (workspace: SupportWorkspace) => Promise<unknown>, ...responses: Response[]) {
  const steps = [created(), ...responses]
  const fetch = async () => steps.shift() as Response
  const workspace = new SupportWorkspace({ baseUrl: 'https://api.test', accessToken: 'token', fetch })
  await create(workspace)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await run(workspace)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const ran = result.flatMap(({ url, functions }) => {
    if (!url.includes('/src/')) return []
    const entered = functions.filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
    return entered.length === 0 ? [] : [entered.length]
  })
  return { functions: ran.reduce((sum, each) => sum + each, 0), files: ran.length }
}

Math.random = () => 0
const counts = {
  'a call that succeeds at once': await count(create, created()),
  'a call that is repeated once': await count(
    create,
    Response.json({ error: 'slow_down' }, { status: 429 }),
    created(),
  ),
  'a list of three pages': await count(list, page('a'), page('b'), page(null)),
}
console.log(JSON.stringify(counts))
