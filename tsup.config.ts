import { defineConfig, type Options } from 'tsup'

const shared: Options = {
  target: 'es2022',
  platform: 'neutral',
  sourcemap: true,
  clean: false,
  treeshake: true,
}

export default defineConfig([
  {
    ...shared,
    entry: { index: 'src/index.ts', oauth: 'src/oauth/index.ts' },
    format: ['esm', 'cjs'],
    dts: { resolve: ['@standard-schema/spec'] },
    splitting: true,
  },
  {
    ...shared,
    entry: { sandbox: 'src/sandbox/index.ts' },
    format: ['esm', 'cjs'],
    platform: 'node',
    dts: true,
    // The sandbox carries its own web server, so that installing the SDK does not.
    noExternal: ['hono', '@hono/node-server'],
  },
  {
    ...shared,
    entry: { cli: 'src/sandbox/cli.ts' },
    format: ['esm'],
    platform: 'node',
    noExternal: ['hono', '@hono/node-server'],
  },
])
