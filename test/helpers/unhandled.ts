/** Runs a function and returns the promise rejections that are unhandled at its end. */
export async function unhandledDuring(run: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', onUnhandled)
  try {
    await run()
    // Node reports them once the microtask queue is empty.
    await new Promise(setImmediate)
  } finally {
    process.off('unhandledRejection', onUnhandled)
  }
  return unhandled
}
