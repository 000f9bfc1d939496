import { fileURLToPath } from 'node:url'
import { defaultExclude, defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^support-workspace-sdk$/, replacement: source('index.ts') },
      { find: /^support-workspace-sdk\/oauth$/, replacement: source('oauth.ts') },
      { find: /^support-workspace-sdk\/otel$/, replacement: source('otel.ts') },
      { find: /^support-workspace-sdk\/storage$/, replacement: source('storage.ts') },
      {
        find: /^support-workspace-sdk\/storage-tests$/,
        replacement: source('storage-tests.ts'),
      },
      { find: /^support-workspace-sdk\/sandbox$/, replacement: source('sandbox.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // Only what hangs should fail: a busy machine is slow, not wrong.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The first need installed browsers and a build: `npm run test:browser`. The second need the packages of their folder:
    // `npm run test:engines`. The others are run by the tests of the guides.
    exclude: [...defaultExclude, 'test/browser/**', 'test/engines/**', 'test/readme/.examples/**'],
  },
})
