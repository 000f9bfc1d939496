import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Options } from 'tsup'

type Plugin = NonNullable<Options['plugins']>[number]

/**
 * The packages whose code is in the build, where it carries it. The schemas use a fraction of zod, which loads as one file
 * instead of a hundred. The CommonJS build carries everything, because ES modules cannot be required in every Node 22.
 * The sandbox has its own web server, so that installing the SDK does not install one.
 */
const carried = {
  esm: ['zod', 'htmlparser2', 'entities'],
  cjs: ['zod', 'ky', 'oauth4webapi', 'jose', 'htmlparser2', 'entities'],
  sandbox: ['hono', '@hono/node-server', 'zod'],
  command: [
    ...[
      'commander',
      '@commander-js/extra-typings',
      'csv-parse',
      'csv-stringify',
      'fast-string-width',
      'fast-string-truncated-width',
      'yocto-spinner',
      'yoctocolors',
      'open',
      'bundle-name',
      'default-browser',
    ],
    ...['default-browser-id', 'define-lazy-prop', 'is-docker', 'is-in-ssh', 'is-inside-container', 'is-wsl'],
    ...['powershell-utils', 'run-applescript', 'wsl-utils'],
  ],
  declarations: ['@standard-schema/spec'],
}

/** Writes the licenses of the carried packages beside the code, as they require. */
const licenses: Plugin = {
  name: 'licenses',
  buildEnd() {
    const texts = [...new Set(Object.values(carried).flat())].map((name) => {
      const folder = join('node_modules', name)
      const file = readdirSync(folder).find((path) => /^licen[cs]e/i.test(path))
      if (file === undefined) throw new Error(`${name} has no license file.`)
      return `${name}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
    })
    writeFileSync(join(this.options.outDir, 'third-party-licenses.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`))
  },
}

/** Loads lazy chunks with `require`: test runners that load CommonJS in a sandbox of their own refuse `import()`. */
const requireLazily: Plugin = {
  name: 'require-lazily',
  renderChunk: (code) => ({
    code: code.replace(/\bimport\(("\.[^"]+")\)/g, 'Promise.resolve().then(() => require($1))'),
  }),
}

/** Loads an entry point from its own file: the sandbox, for example, has its own copy of zod and a web server. */
const loadEntries = (extension: 'js' | 'cjs', filter: RegExp): NonNullable<Options['esbuildPlugins']>[number] => ({
  name: 'load-entries',
  setup(build) {
    build.onResolve({ filter }, ({ path, kind }) => {
      if (kind === 'entry-point') return undefined
      const name = /([\w-]+)\/index\.ts$/.exec(path)?.[1] ?? 'index'
      return { path: `./${name}.${extension}`, external: true }
    })
  },
})
const ownEntries = /\/(sandbox|html)\/index\.ts$/

const shared: Options = {
  target: 'es2022',
  platform: 'neutral',
  sourcemap: true,
  treeshake: true,
}

const library: Options = {
  ...shared,
  entry: {
    index: 'src/index.ts',
    changes: 'src/changes/index.ts',
    oauth: 'src/oauth/index.ts',
    html: 'src/html/index.ts',
    otel: 'src/otel/index.ts',
    journal: 'src/journal/index.ts',
    approvals: 'src/approvals/index.ts',
    storage: 'src/storage/index.ts',
    'fault-test': 'src/fault-test/index.ts',
  },
  splitting: true,
}

/** CommonJS has no `import.meta`. */
const withoutImportMeta = { 'import.meta.filename': '__filename' }

const sandbox: Options = {
  ...shared,
  platform: 'node',
  removeNodeProtocol: false,
  // Most of it would be the map of somebody else's web server.
  sourcemap: false,
  treeshake: false,
  noExternal: carried.sandbox,
}

/** The command uses the package by its entry points, and carries the libraries that nothing else needs. */
const command: Options = {
  ...shared,
  entry: { cli: 'src/cli/cli.ts' },
  format: 'esm',
  platform: 'node',
  removeNodeProtocol: false,
  sourcemap: false,
  splitting: true,
  noExternal: carried.command,
  esbuildPlugins: [loadEntries('js', /^\.\.(\/(oauth|journal|storage|sandbox|html))?\/index\.ts$/)],
}

export default defineConfig([
  command,
  {
    ...library,
    format: 'esm',
    noExternal: carried.esm,
    plugins: [licenses],
    esbuildPlugins: [loadEntries('js', ownEntries)],
  },
  {
    ...library,
    format: 'cjs',
    noExternal: carried.cjs,
    sourcemap: false,
    define: withoutImportMeta,
    plugins: [requireLazily],
    esbuildPlugins: [loadEntries('cjs', ownEntries)],
  },
  // Node loads it before a program under test, which may be of either kind.
  { ...shared, entry: { 'fault-test-preload': 'src/fault-test/program/preload.ts' }, format: 'esm', sourcemap: false },
  {
    ...sandbox,
    entry: { sandbox: 'src/sandbox/index.ts' },
    format: 'esm',
    splitting: true,
  },
  {
    ...sandbox,
    entry: { sandbox: 'src/sandbox/index.ts' },
    format: 'cjs',
    define: withoutImportMeta,
  },
])
