/** Functions that only watch, and fail, for `test.each`. */
export const watchersThatFail: readonly [title: string, watcher: () => void][] = [
  [
    'throws',
    () => {
      throw new Error('no log')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no log')) as unknown as undefined],
]

/** Runs a function, and returns the rejections that nobody has handled by its end. */
export async function unhandledDuring(run: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    await run()
    // They are reported once the microtasks are done.
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('unhandledRejection', note)
  }
  return unhandled
}
