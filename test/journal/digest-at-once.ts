import { createHash } from 'node:crypto'
import { vi } from 'vitest'

/** Makes digests take no time, so that fake time passes only in the steps under test. */
export function digestAtOnce(): void {
  vi.spyOn(crypto.subtle, 'digest').mockImplementation(async (_, data) => {
    const hash = createHash('sha256').update(data as Uint8Array)
    return new Uint8Array(hash.digest()).buffer
  })
}
