import { defineConfig } from 'vitest/config'

// Node drives the browser, and everything under test is what users get: the built package, and bundles of it.
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    // Each step of a test has its own limit: a slow machine only adds them up.
    testTimeout: 180_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // In the order in which they stand: pages are asked and closed before the servers that they talk to.
    sequence: { hooks: 'list' },
  },
})
