import { expect } from 'vitest'
import type { Programs } from '../reader.ts'

export const start: Programs = {
  'docs/quickstart.md': {
    'first.mjs': async ({ run }) => {
      const { code, stdout } = await run()
      expect(code).toBe(0)
      expect(stdout).toMatch(/Sent /)
    },
  },
}
