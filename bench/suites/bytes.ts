import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import { thisSdk } from '../contestants.ts'
import type { Row, Suite } from './suite.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The entry points of this SDK, and typical imports from them. */
const ownImports: Readonly<Record<string, string>> = {
  'everything in .': `export * from 'support-workspace-sdk'`,
  'everything in ./journal': `export * from 'support-workspace-sdk/journal'`,
  'everything in ./oauth': `export * from 'support-workspace-sdk/oauth'`,
  'everything in ./sandbox': `export * from 'support-workspace-sdk/sandbox'`,
  'everything in ./storage': `export * from 'support-workspace-sdk/storage'`,
  'PublicOAuthApp, scopesFor': `export { PublicOAuthApp, scopesFor } from 'support-workspace-sdk/oauth'`,
  'createLoginHandlers, OAuthApp': `export { createLoginHandlers, OAuthApp } from 'support-workspace-sdk/oauth'`,
  ConnectionStore: `export { ConnectionStore } from 'support-workspace-sdk/oauth'`,
}

export const bytes: Suite = {
  title: 'Size of a bundle, without what it loads later',
  shows: 'gzipKB',
  unit: 'kB, minified and compressed with gzip',
  async run({ peers, progress }) {
    const bundles = [...peers].map(([name, peer]) => ({
      name,
      setting: 'main client',
      code: `export { ${peer.mainImport} } from '${peer.package}'`,
    }))
    if (peers.has(thisSdk)) {
      for (const [setting, code] of Object.entries(ownImports)) bundles.push({ name: thisSdk, setting, code })
    }
    const rows: Row[] = []
    for (const { name, setting, code } of bundles) {
      const contents = await bundle(code)
      rows.push({ name, setting, values: { minKB: inKB(contents), gzipKB: inKB(gzipSync(contents, { level: 9 })) } })
      progress(rows.length, bundles.length, `${name}, ${setting}`)
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

async function bundle(contents: string): Promise<Uint8Array> {
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
