import { fileURLToPath } from 'node:url'
import { defaultExclude, defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^support-workspace-sdk$/, replacement: source('index.ts') },
      { find: /^support-workspace-sdk\/approvals$/, replacement: source('approvals/index.ts') },
      { find: /^support-workspace-sdk\/changes$/, replacement: source('changes/index.ts') },
      { find: /^support-workspace-sdk\/journal$/, replacement: source('journal/index.ts') },
      { find: /^support-workspace-sdk\/oauth$/, replacement: source('oauth/index.ts') },
      { find: /^support-workspace-sdk\/html$/, replacement: source('html/index.ts') },
      { find: /^support-workspace-sdk\/otel$/, replacement: source('otel/index.ts') },
      { find: /^support-workspace-sdk\/storage$/, replacement: source('storage/index.ts') },
      { find: /^support-workspace-sdk\/sandbox$/, replacement: source('sandbox/index.ts') },
      { find: /^support-workspace-sdk\/fault-test$/, replacement: source('fault-test/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // Starting a process for each file would take longer than the tests: files share processes, and clean up what they change.
    isolate: false,
    maxWorkers: '100%',
    reporters: ['minimal'],
    silent: 'passed-only',
    // Only what hangs should fail: a busy machine is slow, not wrong.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is slow by design: `npm run test:slow`. What needs browsers and a build: `npm run test:browser`. What needs the
    // packages of its folder: `npm run test:engines`, `test:openapi`. The last are run by the tests of the guides.
    exclude: [
      ...defaultExclude,
      'test/**/*.slow.test.ts',
      'test/browser/**',
      'test/engines/**',
      'test/openapi/**',
      'test/docs/.examples/**',
    ],
  },
})
