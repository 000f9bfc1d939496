import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import type { PeerName } from '../contestants.ts'
import type { Peer } from '../peers/peer.ts'
import { figureOf, shuffled } from '../statistics.ts'
import type { Context, Suite } from './suite.ts'

const execute = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
// Below node_modules, so that git ignores the programs and their imports resolve.
const folder = join(root, 'node_modules', '.first-response')
const limit = 50

// The repository's own configuration maps the names of this package to its source. Measured is what users install.
const tsconfigRaw = '{}'

export const firstResponse: Suite = {
  shows: 'overBareMs',
  unit: 'ms over bare fetch',
  async run(context) {
    const samples = (await writePrograms(context.peers)).map((program) => ({ program, times: [] as number[] }))
    const rounds = context.blocks(15)
    const total = (rounds + 1) * samples.length
    let done = 0
    await context.services.use({ pages: 1, latency: 0 })
    for (let round = 0; round <= rounds; round += 1) {
      for (const { program, times } of shuffled(samples)) {
        const ms = await timeOf(context, program)
        // The first round only fills the caches of the file system.
        if (round > 0) times.push(ms)
        done += 1
        context.progress(done, total, `${program.name}, ${program.setting}`)
      }
    }
    const bareMs = figureOf(samples.find(({ program }) => program === bare)?.times ?? []).median
    return samples
      .filter(({ program }) => program !== bare)
      .map(({ program: { name, setting }, times }) => ({
        name,
        setting,
        values: { overBareMs: figureOf(times.map((ms) => ms - bareMs)), ms: figureOf(times) },
      }))
  },
}

interface Program {
  readonly name: string
  readonly setting: string
  readonly file: string
}

const bare: Program = { name: 'bare fetch', setting: 'import', file: join(folder, 'bare.mjs') }

/** Writes a plain JavaScript program for each peer and module format, and one that uses bare `fetch`. */
async function writePrograms(peers: ReadonlyMap<PeerName, Peer>): Promise<Program[]> {
  const fetched = `fetchPage(process.argv[2], ${limit}).then((page) => Object.values(page).find(Array.isArray))`
  await write(bare.file, `import { fetchPage } from './suites/bare.ts'; ${report(fetched)}`)
  const programs = [bare]
  for (const [name, { package: sdk, hasCommonJs }] of peers) {
    const use = `import peer from './peers/${name}.ts'; ${report(`peer.connect(sdk, process.argv[2]).list(${limit})`)}`
    const esm = join(folder, `${name}.mjs`)
    await write(esm, `import * as sdk from '${sdk}'; ${use}`)
    programs.push({ name, setting: 'import', file: esm })
    if (!hasCommonJs) continue
    const commonJs = join(folder, `${name}.cjs`)
    await write(commonJs, `const sdk = require('${sdk}'); ${use}`)
    programs.push({ name, setting: 'require', file: commonJs })
  }
  return programs
}

function report(items: string): string {
  return `${items}.then(({ length }) => console.log(JSON.stringify({ ms: performance.now(), items: length })))`
}

async function write(outfile: string, contents: string): Promise<void> {
  const format = outfile.endsWith('.cjs') ? 'cjs' : 'esm'
  const stdin = { contents, resolveDir: root }
  await build({
    stdin,
    outfile,
    format,
    bundle: true,
    packages: 'external',
    platform: 'node',
    tsconfigRaw,
    logLevel: 'warning',
  })
}

/** Returns the milliseconds from the start of the process until it has the items of the first page. */
async function timeOf({ peers, services }: Context, { name, file }: Program): Promise<number> {
  const [firstPeer] = peers.keys()
  const origin = services.originOf(name === bare.name ? (firstPeer as PeerName) : (name as PeerName))
  const { stdout } = await execute(process.execPath, [file, origin])
  const { ms, items } = JSON.parse(stdout)
  if (items !== limit) throw new Error(`${file} received ${items} items instead of ${limit}.`)
  return ms
}
