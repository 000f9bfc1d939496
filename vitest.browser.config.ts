import { defineConfig } from 'vitest/config'

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
        test: { name: 'chromium', include: ['test/browser/**/*.test.ts'], provide: { browser: 'chromium' } },
      },
      {
        // Redirects, cookies and forms of logins on a server, the pages of the sandbox, and what a console prints. Browsers differ there.
        extends: true,
        test: {
          name: 'firefox',
          include: ['test/browser/{login-*,con*,printed}.test.ts'],
          provide: { browser: 'firefox' },
        },
      },
    ],
  },
})
