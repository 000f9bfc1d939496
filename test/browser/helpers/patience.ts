/** How long a test waits for a browser on a busy machine: longer than any step takes, and less than the test's own limit. */
export const patience = { timeout: 30_000 } as const
