/** Timeout for a step in a browser on a busy machine. Shorter than the timeout of a test. */
export const patience = { timeout: 30_000 } as const
