import { defineConfig, type Options } from 'tsup'

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
    oauth: 'src/oauth.ts',
    'storage-tests': 'src/storage-tests.ts',
  },
  dts: { resolve: ['@standard-schema/spec'] },
  splitting: true,
}

const sandbox: Options = {
  ...shared,
  platform: 'node',
  removeNodeProtocol: false,
  // Most of it would be the map of somebody else's web server.
  sourcemap: false,
  // The sandbox carries its own web server, so that installing the SDK does not.
  noExternal: ['hono', '@hono/node-server'],
}

export default defineConfig([
  { ...library, format: 'esm' },
  // The dependencies are ES modules, which not every Node 22 can require: the CommonJS build carries them.
  { ...library, format: 'cjs', noExternal: ['is-network-error', 'zod', 'oauth4webapi', 'jose'] },
  {
    ...sandbox,
    entry: { sandbox: 'src/sandbox.ts', cli: 'src/sandbox/cli.ts' },
    format: 'esm',
    dts: { entry: { sandbox: 'src/sandbox.ts' } },
    splitting: true,
  },
  {
    ...sandbox,
    entry: { sandbox: 'src/sandbox.ts' },
    format: 'cjs',
    dts: true,
    // CommonJS has no `import.meta`.
    define: { 'import.meta.filename': '__filename' },
  },
])
