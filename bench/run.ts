import { cpus } from 'node:os'
import { loadPeer, type PeerName, peerNames } from './contestants.ts'
import { type Options, type SuiteName, suiteNames, suiteTitles } from './options.ts'
import type { Peer } from './peers/peer.ts'
import { createProgress } from './progress.ts'
import { isDistorted, writePage } from './report/page.ts'
import { renderSuite } from './report/table.ts'
import { startServices } from './server/services.ts'
import { bundle } from './suites/bundle.ts'
import { firstResponse } from './suites/first-response.ts'
import { paging, slowPaging } from './suites/paging.ts'
import { createCall, growth, listCall } from './suites/single-call.ts'
import type { Row, Suite } from './suites/suite.ts'

const quickBlocks = 3

const suites: Readonly<Record<SuiteName, Suite>> = {
  list: listCall,
  pages: paging,
  'slow-pages': slowPaging,
  post: createCall,
  start: firstResponse,
  bundle,
  growth,
}

/** Runs suites and prints their results. A complete run also writes them into docs/performance.md. */
export async function run({ suites: names, only, quick }: Options): Promise<void> {
  const startedAt = new Date()
  const peers = new Map<PeerName, Peer>()
  for (const name of only) peers.set(name, await loadPeer(name))
  const services = await startServices(only)
  const measured: Partial<Record<SuiteName, readonly Row[]>> = {}
  try {
    for (const name of names) {
      const { report, finish } = createProgress(`${name}: ${suiteTitles[name]}`)
      const blocks = (count: number) => (quick ? Math.min(count, quickBlocks) : count)
      const rows = await suites[name].run({ peers, services, blocks, progress: report })
      measured[name] = rows
      finish()
      console.log(renderSuite(suites[name], rows))
    }
  } finally {
    services.stop()
  }
  console.log(`Finished in ${Math.round((Date.now() - startedAt.getTime()) / 1_000)} s.`)
  if (quick || names.length < suiteNames.length || only.length < peerNames.length) return
  const results = measured as Record<SuiteName, readonly Row[]>
  if (isDistorted(results)) {
    throw new Error(
      'Nothing was written: the machine was busy, so the times are not reliable. Run it when nothing else runs.',
    )
  }
  const [cpu] = cpus()
  await writePage(results, {
    date: startedAt.toISOString().slice(0, 10),
    machine: `Node ${process.versions.node} on ${cpu?.model ?? 'an unknown CPU'}, ${cpus().length} cores`,
  })
}
