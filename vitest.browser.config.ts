import { defineConfig } from 'vitest/config'

// Node drives the browser, and everything under test is what users get: the built package, and bundles of it.
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
