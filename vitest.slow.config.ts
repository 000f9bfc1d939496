import { fileURLToPath } from 'node:url'
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
    // The processes that tests start are of the same few modules. Compiling them takes most of the time of a short one.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('artifacts/compile-cache', import.meta.url)) },
    silent: false,
    testTimeout: 240_000,
  },
})
