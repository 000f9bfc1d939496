// A worker process of the example, with the limiter that the proof compares and a measurement of each request.
import type { Redis } from 'ioredis'
import type { RateLimiter } from 'support-workspace-sdk'
import { runWorker } from '../run-worker.ts'
import { readSettings } from '../settings.ts'
import { SharedRateLimiter } from '../shared-rate-limiter.ts'
import { createFixedRateLimiter } from './fixed-rate-limiter.ts'
import { type Measurement, measured } from './measured-rate-limiter.ts'
import type { LimiterName } from './options.ts'

/** What a worker reports every second, and again when it ends. */
export interface WorkerReport {
  readonly requests: readonly Measurement[]
  /** CPU time since the last report, in seconds. */
  readonly cpu: number
}

const limiters: Record<LimiterName, (redis: Redis) => RateLimiter> = {
  shared: (redis) => new SharedRateLimiter(redis),
  fixed: () => createFixedRateLimiter(Number(process.env.PROOF_RATE)),
  none: () => ({ acquire() {}, penalize() {} }),
}

const createLimiter = limiters[process.env.PROOF_LIMITER as LimiterName]
let requests: Measurement[] = []
let cpuBefore = 0

function report(): void {
  const { user, system } = process.cpuUsage()
  const cpu = (user + system) / 1e6
  process.send?.({ requests, cpu: cpu - cpuBefore } satisfies WorkerReport)
  requests = []
  cpuBefore = cpu
}

await runWorker(readSettings(), (redis) => measured(createLimiter(redis), (request) => requests.push(request)))
process.send?.('ready')
setInterval(report, 1_000).unref()
