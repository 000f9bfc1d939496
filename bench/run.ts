import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { loadPeer, type PeerName, peerNames } from './contestants.ts'
import { type Options, type SuiteLetter, suiteLetters } from './options.ts'
import type { Peer } from './peers/peer.ts'
import { createProgress } from './progress.ts'
import { isDistorted, type Results } from './report/results.ts'
import { renderSuite } from './report/table.ts'
import { readResults, writeReport } from './report/write.ts'
import { startServices } from './server/services.ts'
import { suites } from './suites/all.ts'
import type { Row } from './suites/suite.ts'

const quickBlocks = 3

/**
 * Runs suites and prints their results. A complete run also writes them to the results, the chart and the README. With
 * `save`, some suites replace theirs in results of the same day, machine and versions.
 */
export async function run({ letters, only, quick, save }: Options): Promise<void> {
  const startedAt = new Date()
  const peers = new Map<PeerName, Peer>()
  for (const name of only) peers.set(name, await loadPeer(name))
  const services = await startServices(only)
  const measured: Partial<Record<SuiteLetter, readonly Row[]>> = {}
  try {
    for (const letter of letters) {
      const suite = suites[letter]
      const { report, finish } = createProgress(`(${letter}) ${suite.title}`)
      const blocks = (count: number) => (quick ? Math.min(count, quickBlocks) : count)
      const rows = await suite.run({ peers, services, blocks, progress: report })
      measured[letter] = rows
      finish()
      console.log(renderSuite(suite, rows))
    }
  } finally {
    services.stop()
  }
  const seconds = Math.round((Date.now() - startedAt.getTime()) / 1_000)
  console.log(`Finished in ${seconds} s.`)
  const isPart = letters.length < suiteLetters.length
  if (((quick || isPart) && !save) || only.length < peerNames.length) return
  const run: Omit<Results, 'seconds' | 'suites'> = {
    date: startedAt.toISOString().slice(0, 10),
    command: quick ? 'npm run bench -- --quick --save' : 'npm run bench',
    node: process.version,
    cpu: `${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} cores`,
    packages: await versionsOf(peers),
  }
  const earlier = isPart ? await readResults() : undefined
  if (earlier !== undefined && !isDeepStrictEqual({ ...earlier, ...run }, earlier)) {
    throw new Error('The saved results come from another day, command, machine or version. Run all suites.')
  }
  const results: Results = {
    ...run,
    seconds: earlier?.seconds ?? seconds,
    suites: { ...earlier?.suites, ...measured } as Results['suites'],
  }
  if (isDistorted(results)) {
    throw new Error(
      'Nothing was saved: the machine was busy, so the times are not reliable. Run it when nothing else runs.',
    )
  }
  await writeReport(results)
}

async function versionsOf(peers: ReadonlyMap<PeerName, Peer>): Promise<Record<string, string>> {
  const versions: Record<string, string> = {}
  for (const { package: name } of peers.values()) {
    const text = await readFile(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8')
    versions[name] = JSON.parse(text).version
  }
  return versions
}
