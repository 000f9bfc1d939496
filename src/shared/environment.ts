/** The address of the service. */
export const serviceUrl = 'https://api.supportwire.app'

/** Returns an environment variable of Node or Bun. Deno would ask the user for permission. */
export function environmentVariable(name: string): string | undefined {
  const { process, Deno } = globalThis as { process?: { env?: Record<string, string | undefined> }; Deno?: unknown }
  return Deno === undefined ? process?.env?.[name] : undefined
}

/**
 * Whether users can read this code: in a page, a web worker or a React Native app. Evaluated in the constructor, never
 * at import. Cloudflare Workers and Deno also have a `WorkerGlobalScope`, but unlike browsers their user agent does not
 * start with Mozilla.
 */
export function isPublicRuntime(): boolean {
  const scope = globalThis as {
    window?: { document?: unknown }
    WorkerGlobalScope?: unknown
    navigator?: { userAgent?: unknown; product?: unknown }
  }
  if (scope.window?.document !== undefined || scope.navigator?.product === 'ReactNative') return true
  return typeof scope.WorkerGlobalScope === 'function' && String(scope.navigator?.userAgent).startsWith('Mozilla/')
}
