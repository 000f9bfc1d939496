/**
 * Whether this code runs where its users can read it: a page, or a worker of one.
 *
 * Asked at construction, never at import. Cloudflare Workers and Deno have a `WorkerGlobalScope` as well, but do not
 * call themselves Mozilla, as every browser does.
 */
export function isBrowser(): boolean {
  const scope = globalThis as {
    window?: { document?: unknown }
    WorkerGlobalScope?: unknown
    navigator?: { userAgent?: unknown }
  }
  if (scope.window?.document !== undefined) return true
  return typeof scope.WorkerGlobalScope === 'function' && String(scope.navigator?.userAgent).startsWith('Mozilla/')
}
