// The log of all processes.

/** Writes one line of JSON to stderr, where the log of a process is collected. */
export function log(event: string, details: Readonly<Record<string, unknown>> = {}): void {
  console.error(JSON.stringify({ at: new Date().toISOString(), event, ...details }))
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
