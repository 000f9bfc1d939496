import type { RequestError } from 'support-workspace-sdk'
import { type Fault, startSandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { makeClient, stubPlatformFetch } from '../../test/helpers/client.ts'
import { jitter } from '../../test/helpers/clock.ts'
import { freePort } from '../../test/helpers/free-port.ts'
import { Random } from '../../test/helpers/random.ts'
import { isFull } from '../is-full.ts'

beforeEach(() => jitter(0))

/** What can happen to an attempt, in the order of an exchange. */
const faults = {
  'a refused connection': 'refused',
  'a 429': { status: 429, retryAfter: 0 },
  'a 422': { status: 422 },
  'a 500 without effect': { status: 500 },
  'a page of HTML without effect': { status: 200, body: '<html></html>' },
  'a drop before its effect': { drop: 'before-effect' },
  'a drop after its effect': { drop: 'after-effect' },
  'a drop in the headers': { drop: 'mid-headers' },
  'a drop in the body': { drop: 'mid-body' },
  'a body that is cut short': { truncate: true },
  'a 500 after its effect': { status: 500, effect: true },
  'a redirect after its effect': { status: 303, headers: { location: '/elsewhere' }, effect: true },
  nothing: {},
} as const satisfies Record<string, Fault | 'refused'>

type FaultName = keyof typeof faults
const faultNames = Object.keys(faults) as FaultName[]

const platformFetch = globalThis.fetch

/** Starts a service on a real port, whose next attempts have planned faults. Attempts after those succeed. */
async function startService() {
  const sandbox = await startSandbox({ conversations: 1 })
  onTestFinished(() => sandbox.close())
  const closedUrl = `http://127.0.0.1:${await freePort()}`
  const planned: FaultName[] = []
  // Only the errors of the platform's fetch can prove that nothing was sent.
  stubPlatformFetch(async (url: string, init: RequestInit) => {
    const fault = faults[planned.shift() ?? 'nothing']
    if (fault === 'refused') return platformFetch(url.replace(sandbox.url, closedUrl), init)
    if (Object.keys(fault).length > 0) sandbox.failNext(fault)
    return platformFetch(url, init)
  })
  const conversation = sandbox.state.conversations[0]?.id ?? ''
  const { messages } = makeClient({ baseUrl: sandbox.url, accessToken: sandbox.issueToken({ actor: 'self' }) })
  return {
    planned,
    create: (body_html: string, maxRetries?: number) => messages.create(conversation, { body_html }, { maxRetries }),
    remove: (id: string, maxRetries?: number) => messages.delete(conversation, id, { maxRetries }),
    stored: () => sandbox.state.messages(conversation),
  }
}

test.each([
  ['create', 500, 1],
  ['delete', 300, 2],
] as const)('over random faults, a %s is applied once, with a true outcome', async (kind, most, seed) => {
  const runs = isFull ? most : most / 5
  const { planned, create, remove, stored } = await startService()
  const random = new Random(seed)
  const outcomes = { succeeded: 0, 'not-sent': 0, refused: 0, unknown: 0 }
  let doubled = 0
  let untrue = 0
  for (let run = 0; run < runs; run += 1) {
    const text = `<p>${run}</p>`
    const existing = kind === 'delete' ? (await create(text)).id : ''
    planned.push(...Array.from({ length: 3 }, () => random.pick([...faultNames, 'nothing' as const])))
    const maxRetries = random.pick([0, 1, 2])
    const call = kind === 'create' ? create(text, maxRetries) : remove(existing, maxRetries)
    const outcome = await call.then(
      () => 'succeeded',
      (error: unknown) => (error as RequestError).outcome,
    )
    planned.length = 0
    const left = stored().filter(({ body_html }) => body_html === text).length
    const applied = kind === 'create' ? left : 1 - left
    outcomes[outcome as keyof typeof outcomes] += 1
    if (applied > 1) doubled += 1
    if (applied > 0 && (outcome === 'refused' || outcome === 'not-sent')) untrue += 1
    if (applied === 0 && outcome === 'succeeded') untrue += 1
  }
  console.log(`${kind}: ${runs} runs, outcomes ${JSON.stringify(outcomes)}, doubled ${doubled}, untrue ${untrue}`)
  expect({ doubled, untrue }).toEqual({ doubled: 0, untrue: 0 })
  // The runs prove something only if every outcome occurred.
  for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(0)
})
