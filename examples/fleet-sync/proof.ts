/**
 * Shows that the sync neither loses nor doubles anything, and what it costs. Prints a table.
 *
 *   npm run fleet-proof                                      200 organizations and 8 workers
 *   npm run fleet-proof -- --limiter fixed                   the same with a constant rate instead of the shared limiter
 *   npm run fleet-proof -- --connections 50 --workers 2      a point of the cost curve
 *   npm run fleet-proof -- --ci                              a small run that checks each promise
 *
 * The service is the sandbox, in another process. Each organization has a limit that the workers do not know. During
 * the whole run some responses are errors, late, cut off or lost, and other people add, edit and delete items. At the end
 * workers are killed and tokens revoked. Then all of that stops, and after two more complete sweeps each replica must be
 * equal to what the service has.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openConnections } from './connections.ts'
import { openDatabase } from './database.ts'
import { compare, type Differences, doubledChanges, noDifferences } from './proof/compare.ts'
import { Fleet } from './proof/fleet.ts'
import { help, type ProofOptions, readOptions } from './proof/options.ts'
import { startRemote } from './proof/remote.ts'
import { goodputs, latency, type Period, type Report, refusedShare, round, sum, toTable } from './proof/report.ts'
import type { Account, ServiceFunctions, ServiceOptions } from './proof/service.ts'
import { addSync, connectToRedis, openQueue } from './queue.ts'
import { startRedis } from './redis-server.ts'
import { scheduleAll } from './scheduler.ts'
import { type Settings, toEnvironment } from './settings.ts'

/** The goodput that a run of one minute must reach. Its rates are still rising to the limits. */
const shortRunGoodput = 0.8
/** The share of 429s that such a run may have, for the same reason. */
const shortRunRefusals = 0.06

const options = readOptions(process.argv.slice(2))
if (options === undefined) console.log(help)
else {
  const report = await run(options)
  console.log(toTable(report))
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
  const problems = options.ci ? brokenPromises(report) : []
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}

/** Runs the proof, and then ends what it has started. */
async function run(options: ProofOptions): Promise<Report> {
  const cleanUps: (() => unknown)[] = []
  try {
    return await prove(options, cleanUps)
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp()
  }
}

async function prove(options: ProofOptions, cleanUps: (() => unknown)[]): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-proof-'))
  cleanUps.push(() => rmSync(folder, { recursive: true }))
  const redisServer = await startRedis()
  cleanUps.push(redisServer.close)
  const serviceOptions: ServiceOptions = { organizations: options.organizations, messagesPerConversation: 2 }
  const { remote: service, failed: serviceFailed, close } = startRemote<ServiceFunctions>('service.ts', serviceOptions)
  cleanUps.push(close)
  const settings: Settings = {
    baseUrl: await service.url(),
    redisUrl: redisServer.url,
    databaseUrl: options.databaseUrl ?? join(folder, 'replica.sqlite'),
    storeSecret: randomBytes(32).toString('base64'),
    // The proof starts the next sweep of a connection itself, as soon as the last one is complete.
    interval: 86_400_000,
    addNotes: false,
    concurrency: Math.ceil((options.organizations.length / options.workers) * 1.5),
  }
  const database = await openDatabase(settings.databaseUrl)
  const redis = connectToRedis(settings.redisUrl)
  const queue = openQueue(redis)
  const { store, close: closeConnections } = openConnections(settings)
  cleanUps.push(
    () => redis.disconnect(),
    queue.close.bind(queue),
    closeConnections,
    () => database.close(),
  )
  const memoryBefore = await usedMemory()

  const accounts = await service.accounts()
  const busy = accounts.filter(({ role }) => role === 'busy')
  const noisy = accounts.filter(({ role }) => role === 'noisy')
  /** The key of each organization's connection. */
  const keys = new Map<string, string>()
  const connect = async ({ id, token }: Account) => void keys.set(id, (await store.save(token)).key)
  await Promise.all(accounts.filter(({ role }) => role !== 'noisy').map(connect))
  const quietKeys = new Set(accounts.flatMap(({ role, id }) => (role === 'quiet' ? [keys.get(id) ?? ''] : [])))
  say(`${keys.size} organizations are connected.`)

  const fleet = await Fleet.start(options.workers, {
    ...toEnvironment(settings),
    PROOF_LIMITER: options.limiter,
    PROOF_RATE: String(options.fixedRate),
  })
  cleanUps.push(() => fleet.close())
  const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]).then(() =>
    Promise.reject(new Error('Interrupted.')),
  )
  /** Rejects if the run cannot go on. */
  const failed = Promise.race([serviceFailed, fleet.failed, interrupted])
  const stopSweeping = keepSweeping()
  cleanUps.push(stopSweeping)
  await service.setFaults(options.faultsPerSecond)
  await service.setChanges(options.changesPerSecond)

  const warmUp = await measure('Warming up', setTimeout(options.warmUp * 1_000))
  const alone = await measure('Measuring', setTimeout(options.quiet * 1_000))
  const memory = await usedMemory()
  await Promise.all(noisy.map(connect))
  for (const { id, limit } of noisy) await service.setOtherLoad(id, limit / 60 / 2)
  const crowded = await measure('Measuring beside a noisy neighbor', setTimeout(options.noisy * 1_000))
  const revoked = busy.slice(0, options.revocations)
  const chaos = await measure(
    'Killing workers and revoking tokens',
    Promise.all([fleet.killFor(options.kills, options.secondsBetweenKills), revokeOneByOne(revoked)]),
  )

  await service.setFaults(0)
  await service.setChanges(0)
  for (const { id } of noisy) await service.setOtherLoad(id, 0)
  const settling = await measure('Waiting for two more complete sweeps', settle())
  await stopSweeping()

  const revokedKeys = new Set(revoked.map(({ id }) => keys.get(id)))
  const failures = (await queue.getFailed()).filter(({ data }) => !revokedKeys.has(data.key))
  for (const { data, failedReason } of failures) say(`A sweep of ${data.key} failed: ${failedReason}`)
  const differences = await compareAll()
  const notices = await database.notices()
  const cpuPeriods = [alone, crowded]
  const seconds = sum(cpuPeriods.map((period) => period.seconds))
  const requests = sum(cpuPeriods.map(({ traffic }) => sum([...traffic.values()].map(({ sent }) => sent))))
  const workerCpu = sum(cpuPeriods.map((period) => period.workerCpu))
  const goodput = [...goodputs(alone, accounts, keys).values(), ...goodputs(crowded, accounts, keys).values()]
  const withKills = [
    ...goodputs(
      chaos,
      accounts.filter((account) => !revoked.includes(account)),
      keys,
    ).values(),
  ]
  return {
    limiter: options.limiter,
    connections: accounts.length,
    workers: options.workers,
    ...differences,
    revocations: revoked.length,
    notices: notices.length,
    kills: fleet.kills,
    faults: sum([warmUp, alone, crowded, chaos].map(faultsOf)),
    failures: failures.length,
    refusedShare: {
      all: refusedShare([warmUp, alone, crowded, chaos, settling]),
      afterWarmUp: refusedShare([alone, crowded, chaos, settling]),
    },
    goodput: {
      mean: round(sum(goodput) / goodput.length, 4),
      lowest: round(Math.min(...goodput), 4),
      withKills: round(sum(withKills) / withKills.length, 4),
    },
    saturated: { connections: goodputs(alone, accounts, keys).size, of: busy.length },
    quietLatency: { alone: latency(alone, quietKeys), withNoisyNeighbor: latency(crowded, quietKeys) },
    cost: {
      requestsPerSecond: round(requests / seconds, 1),
      workerCpuPerSecond: round(workerCpu / seconds, 3),
      workerCpuPerThousandRequests: round((workerCpu / requests) * 1_000, 3),
      serviceCpuPerSecond: round(sum(cpuPeriods.map((period) => period.serviceCpu)) / seconds, 3),
      redisBytesPerConnection: Math.round((memory - memoryBefore) / accounts.length),
      secondsPerSweep: round((busy.length * seconds) / sum(cpuPeriods.map(({ sweeps }) => sweeps)), 1),
    },
  }

  async function usedMemory(): Promise<number> {
    return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
  }

  /** Starts sweeps until the returned function is called: every 3 s of quiet connections, without a pause of all others. */
  function keepSweeping(): () => Promise<void> {
    const stop = new AbortController()
    const { signal } = stop
    const startedAt = new Map<string, number>()
    const loop = async () => {
      for (let round = 0; !signal.aborted; round += 1) {
        if (round % 20 === 0) await scheduleAll({ store, database, queue, interval: settings.interval })
        for (const { key, state } of await database.status()) {
          if (state !== 'waiting' && state !== 'failed') continue
          const isRecent = Date.now() - (startedAt.get(key) ?? 0) < 3_000
          if (isRecent && (state === 'failed' || quietKeys.has(key))) continue
          startedAt.set(key, Date.now())
          await addSync(queue, key)
        }
        await setTimeout(250, undefined, { signal }).catch(() => {})
      }
    }
    const ended = loop()
    return async () => {
      stop.abort()
      await ended
    }
  }

  async function measure(title: string, end: Promise<unknown>): Promise<Period> {
    say(`${title}.`)
    const sweeps = async () => sum((await busyStatus()).map(({ completeSweeps }) => completeSweeps))
    const [start, sweepsBefore, cpuBefore] = [performance.now(), await sweeps(), await service.cpu()]
    fleet.takeMeasurements()
    await service.takeTraffic()
    await Promise.race([end, failed])
    const traffic = await service.takeTraffic()
    const { requests, cpu } = fleet.takeMeasurements()
    return {
      seconds: (performance.now() - start) / 1_000,
      traffic,
      requests,
      workerCpu: cpu,
      serviceCpu: (await service.cpu()) - cpuBefore,
      sweeps: (await sweeps()) - sweepsBefore,
    }
  }

  async function busyStatus() {
    const busyKeys = new Set(busy.map(({ id }) => keys.get(id)))
    return (await database.status()).filter(({ key }) => busyKeys.has(key))
  }

  async function revokeOneByOne(revoked: readonly Account[]): Promise<void> {
    for (const { token } of revoked) {
      await service.revoke([token])
      await setTimeout((options.kills * 1_000) / (revoked.length + 1))
    }
  }

  /** Waits until each connection has completed two sweeps that began after now, and each revocation was noticed. */
  async function settle(): Promise<void> {
    // The running sweep began earlier.
    const goals = new Map((await database.status()).map(({ key, completeSweeps }) => [key, completeSweeps + 3]))
    for (let seconds = 1; ; seconds += 1) {
      const status = (await database.status()).filter(({ state }) => state !== 'revoked')
      const unfinished = status.filter(({ key, completeSweeps }) => completeSweeps < (goals.get(key) ?? 0))
      if (unfinished.length === 0 && (await database.notices()).length >= revoked.length) return
      if (seconds > 900)
        throw new Error(`${unfinished.length} organizations did not complete their sweeps within 15 minutes.`)
      if (seconds % 15 === 0) say(`${unfinished.length} organizations are not finished.`)
      await setTimeout(1_000)
    }
  }

  async function compareAll(): Promise<Pick<Report, 'differences' | 'items' | 'changes'>> {
    const differences = { ...noDifferences }
    let [items, reported] = [0, 0]
    for (const account of accounts) {
      const key = keys.get(account.id) ?? ''
      const truth = await service.truth(account.id)
      const changes = await database.changes(key)
      reported += changes.length
      // The replica of a revoked connection is as old as its last sweep.
      const found = revoked.includes(account)
        ? { ...noDifferences, doubled: doubledChanges(changes, truth) }
        : compare(await database.items(key), changes, truth)
      if (!revoked.includes(account)) items += truth.items.length
      for (const name of Object.keys(found) as (keyof Differences)[]) differences[name] += found[name]
    }
    return { differences, items, changes: reported }
  }
}

function faultsOf({ traffic }: Period): number {
  return sum([...traffic.values()].map(({ faults }) => faults))
}

/** Returns what the report disproves. */
function brokenPromises({
  differences,
  notices,
  revocations,
  failures,
  refusedShare,
  goodput,
  saturated,
}: Report): string[] {
  const problems = Object.entries(differences).flatMap(([name, count]) =>
    count === 0 ? [] : [`${name}: ${count}, not 0.`],
  )
  if (notices !== revocations) problems.push(`There are ${notices} notices of ${revocations} revocations.`)
  if (failures > 0) problems.push(`${failures} sweeps failed.`)
  if (refusedShare.afterWarmUp > shortRunRefusals)
    problems.push(`More than ${100 * shortRunRefusals} % of the requests got a 429: ${refusedShare.afterWarmUp}.`)
  if (saturated.connections < saturated.of / 2) {
    console.log('This machine is too slow to reach the limits, so the goodput was not checked.')
  } else if (goodput.mean < shortRunGoodput) problems.push(`The goodput is below 80 %: ${goodput.mean}.`)
  return problems
}

function say(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`)
}
