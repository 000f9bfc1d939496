import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import type { Row, Suite } from './suite.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

export const bundle: Suite = {
  shows: 'gzipKB',
  unit: 'kB, minified and compressed with gzip',
  async run({ peers, progress }) {
    const rows: Row[] = []
    for (const [name, peer] of peers) {
      const contents = await bundleOf(`export { ${peer.mainImport} } from '${peer.package}'`)
      const values = { minKB: inKB(contents), gzipKB: inKB(gzipSync(contents, { level: 9 })) }
      rows.push({ name, setting: 'main client', values })
      progress(rows.length, peers.size, name)
    }
    return rows
  },
}

/** Leaves out what a bundler puts into a separate file, to be loaded when it is first used. */
const initially: Plugin = {
  name: 'initially',
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ kind }) => (kind === 'dynamic-import' ? { external: true } : undefined))
  },
}

async function bundleOf(contents: string): Promise<Uint8Array> {
  const stdin = { contents, resolveDir: root }
  // Node's own modules stay out of the bundle.
  const options = {
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    write: false,
    tsconfigRaw: '{}',
  } as const
  const { outputFiles } = await build({ ...options, stdin, external: ['msw'], plugins: [initially], logLevel: 'error' })
  return outputFiles[0]?.contents ?? new Uint8Array()
}

function inKB({ length }: Uint8Array): number {
  return Math.round(length / 100) / 10
}
