import { defaultExclude, defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/**
 * The tests that start servers, kill processes, install the packed package or go on for as long as they are told. The gate runs
 * `*.slow.test.ts`, and a release `*.proof.test.ts`.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['{test,proofs}/**/*.{slow,proof}.test.ts'],
    exclude: [...defaultExclude, 'test/docs/.examples/**'],
    isolate: true,
    silent: false,
  },
})
