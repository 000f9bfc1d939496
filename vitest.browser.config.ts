import { defineConfig } from 'vitest/config'
import { isFull } from './proofs/is-full.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    browser: 'chromium' | 'firefox'
  }
}

// Node drives the browser, and everything under test is what users get: the built package, and bundles of it.
export default defineConfig({
  test: {
    // Each step of a test has its own limit: a slow machine only adds them up.
    testTimeout: 180_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // In the order in which they stand: pages are asked and closed before the servers that they talk to.
    sequence: { hooks: 'list' },
    projects: [
      {
        extends: true,
        test: {
          name: 'chromium',
          include: ['test/browser/**/*.test.ts'],
          // Building the site takes long.
          exclude: isFull ? [] : ['test/browser/site.test.ts'],
          provide: { browser: 'chromium' },
        },
      },
      // Before a release also in Firefox: logins, and the pages of the sandbox.
      ...(isFull
        ? [
            {
              extends: true as const,
              test: {
                name: 'firefox',
                include: ['test/browser/{login-*,con*}.test.ts'],
                provide: { browser: 'firefox' as const },
              },
            },
          ]
        : []),
    ],
  },
})
