import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** The tests that `npm run mutate` runs for each mutant: those that are fast and test one module. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: [
      'test/{http,trust,oauth,connections,errors,operations}/**/*.test.ts',
      'test/models/lazy-schemas.test.ts',
      'test/*.test.ts',
    ],
    exclude: [
      ...(base.test?.exclude ?? []),
      // Runs of random faults and simulations, which take seconds and find what the others find.
      'test/trust/{outcome,leaks}.test.ts',
      'test/**/hostile-requests.test.ts',
      'test/connections/storage-tests.test.ts',
      'test/operations/documentation.test.ts',
      'test/main-job.test.ts',
    ],
  },
})
