/** Returns an environment variable of Node or Bun. Deno would ask the user for permission. */
export function environmentVariable(name: string): string | undefined {
  const { process, Deno } = globalThis as { process?: { env?: Record<string, string | undefined> }; Deno?: unknown }
  return Deno === undefined ? process?.env?.[name] : undefined
}
