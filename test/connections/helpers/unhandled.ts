/** Callbacks that fail, for `test.each`. */
export const failingCallbacks: readonly [title: string, callback: () => void][] = [
  [
    'throws',
    () => {
      throw new Error('no log')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no log')) as unknown as undefined],
]

/** Runs a function, and returns the unhandled rejections. */
export async function unhandledDuring(run: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    await run()
    // Node reports them after the microtasks.
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('unhandledRejection', note)
  }
  return unhandled
}
