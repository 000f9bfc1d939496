// Processes with a change feed on each storage, which are killed at any step, alone and two at a time.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Change } from '../../src/changes/index.ts'
import { moduleFor } from '../../test/connections/helpers/open-storage.ts'
import { describeOnStorages } from '../../test/connections/helpers/servers.ts'
import { Random } from '../../test/helpers/random.ts'
import { isFull } from '../is-full.ts'
import type { FeedOrder } from './kill-worker.ts'

const worker = fileURLToPath(new URL('./kill-worker.ts', import.meta.url))
const rounds = isFull ? 60 : 8

describe('processes that are killed at any step', () => {
  describeOnStorages((kind, address) => {
    test.runIf(isFull || kind === 'sqlite').each(isFull ? [1, 2] : [2])(
      'lose no change, %i at a time',
      { timeout: 1_200_000 },
      async (processes) => {
        const sandbox = await startSandbox({ conversations: 8, messagesPerConversation: 2, organizations: 1 })
        const folder = mkdtempSync(join(tmpdir(), 'feed-'))
        const file = join(folder, 'changes.ndjson')
        onTestFinished(async () => {
          rmSync(folder, { recursive: true })
          await sandbox.close()
        })
        const random = new Random(7 * processes)
        // The tests share a database, and each has its own service.
        const name = `${kind} ${processes}`
        const accessToken = sandbox.issueToken({ actor: 'self' })
        const run = async (killAt: number, passes: number, interval: number) => {
          const storage = moduleFor(kind, address())
          const order: FeedOrder = { storage, name, file, baseUrl: sandbox.url, accessToken, killAt, passes, interval }
          const [code] = await once(fork(worker, [JSON.stringify(order)], { execArgv: ['--no-warnings'] }), 'exit')
          return code as number | null
        }
        const counts = { killed: 0, ended: 0 }
        for (let round = 0; round < rounds; round += 1) {
          const { id } = random.pick(sandbox.state.conversations)
          if (round > 2) sandbox.receiveMessage(id, `<p>${round}</p>`)
          if (round % 5 === 4) sandbox.updateConversation(id, { status: `state ${round}` })
          if (round % 8 === 7) sandbox.removeItem(random.pick(sandbox.state.conversations).id)
          const killAt = () => 1 + Math.floor(random.next() * 200)
          const codes = await Promise.all(Array.from({ length: processes }, () => run(killAt(), 1, 1)))
          for (const code of codes) counts[code === 0 ? 'ended' : 'killed'] += 1
        }
        expect(await run(0, 4, 100)).toBe(0)
        const replica = new Map<string, string>()
        const keys = new Set<string>()
        const lines = readFileSync(file, 'utf8').trim().split('\n')
        for (const line of lines) {
          const change = JSON.parse(line) as Change
          if (keys.has(change.key)) continue
          keys.add(change.key)
          const item = `${change.resource} ${change.id}`
          if (change.kind !== 'deleted') replica.set(item, JSON.stringify(change.value))
          else if (change.resource === 'conversations') {
            for (const other of replica.keys()) if (replica.get(other)?.includes(change.id)) replica.delete(other)
          }
        }
        const now = new Map<string, string>()
        for (const conversation of sandbox.state.conversations) {
          now.set(`conversations ${conversation.id}`, JSON.stringify(conversation))
          for (const message of sandbox.state.messages(conversation.id)) {
            now.set(`messages ${message.id}`, JSON.stringify(message))
          }
        }
        expect(new Map([...replica].sort())).toEqual(new Map([...now].sort()))
        const sums = { ...counts, changes: keys.size, repeated: lines.length - keys.size }
        console.log(`${kind}, ${processes} at a time: ${JSON.stringify(sums)}`)
        expect(counts.killed).toBeGreaterThan(rounds / 4)
      },
    )
  })
})
