import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** The tests that `npm run mutate` runs for each mutant: those that are fast and test one module. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: [
      'test/{core,client,oauth,connections,rate-limiter,shared}/**/*.test.ts',
      // The guard of a write, and what middleware around a journal repeats.
      'test/journal/{before,once}.test.ts',
      'test/*.test.ts',
    ],
    exclude: [
      ...(base.test?.exclude ?? []),
      // Takes seconds, and finds what the others find.
      'test/client/leaks.test.ts',
      'test/**/hostile-requests.test.ts',
      'test/client/operations/documentation.test.ts',
      'test/oauth/main-job.test.ts',
    ],
  },
})
