import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type FaultRule, type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { moduleFor } from '../../test/connections/helpers/open-storage.ts'
import { describeOnStorages } from '../../test/connections/helpers/servers.ts'
import { messages } from '../../test/journal/helpers.ts'
import { isFull } from '../is-full.ts'
import type { KillOrder, KillReport } from './kill-worker.ts'

const worker = fileURLToPath(new URL('./kill-worker.ts', import.meta.url))

/** Returns the report; undefined if the process was killed. */
function run(order: KillOrder): Promise<KillReport | undefined> {
  return new Promise((resolve) => {
    const child = fork(worker, [JSON.stringify(order)], { execArgv: ['--no-warnings'] })
    let report: KillReport | undefined
    child.on('message', (message: KillReport) => {
      report = message
    })
    child.once('exit', () => resolve(report))
  })
}

const faults: readonly [string, Partial<FaultRule> | undefined][] = [
  ['no fault', undefined],
  ['a 429', { status: 429, retryAfter: 0 }],
  ['a 503 with an effect', { status: 503, effect: true }],
  ['a response that is dropped', { drop: 'after-effect' }],
]

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ conversations: 1 })
})
afterAll(() => sandbox.close())

describe('a process that is killed at any step', () => {
  describeOnStorages((kind, address) => {
    test.runIf(isFull || kind === 'sqlite').each(isFull ? faults : faults.slice(-1))(
      'doubles nothing, and loses nothing untold, under %s',
      { timeout: 600_000 },
      async (title, fault) => {
        const conversation = sandbox.state.conversations[0]?.id ?? ''
        const counts = { places: 0, applied: 0, unconfirmed: 0 }
        for (let killAt = 1, isKilled = true; isKilled; killAt += isFull ? 1 : 3) {
          const text = `${kind} ${title} ${killAt}`
          const order = {
            ...{ storage: moduleFor(kind, address()), baseUrl: sandbox.url, conversation, killAt },
            ...{ accessToken: sandbox.issueToken({ actor: 'self' }), key: text, body_html: text },
          }
          sandbox.faults.clear()
          if (fault !== undefined) sandbox.faults.add({ method: 'POST', path: messages, ...fault })
          isKilled = (await run(order)) === undefined
          sandbox.faults.clear()
          const report = await run({ ...order, killAt: 0 })
          const ids = sandbox.state
            .messages(conversation)
            .flatMap(({ id, body_html }) => (body_html === text ? [id] : []))
          expect(ids.length).toBeLessThan(2)
          if (report?.error === undefined) expect(report).toEqual({ id: ids[0] })
          else expect(report.error).toBe('UnconfirmedWriteError')
          counts.places += 1
          counts[report?.error === undefined ? 'applied' : 'unconfirmed'] += 1
        }
        console.log(`${kind}, ${title}: ${JSON.stringify(counts)}`)
        expect(counts.places).toBeGreaterThan(isFull ? 8 : 5)
      },
    )
  })
})
