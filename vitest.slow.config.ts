import { defaultExclude, defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** The tests that start servers, kill processes or install the packed package, and the proofs. The gate runs both. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/**/*.slow.test.ts', 'proofs/**/*.test.ts'],
    exclude: [...defaultExclude, 'test/docs/.examples/**'],
    isolate: true,
    silent: false,
    testTimeout: 240_000,
  },
})
