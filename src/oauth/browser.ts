/**
 * Whether this code runs where its users can read it: in a page, a worker of one, or a React Native app.
 *
 * Evaluated at construction, never at import. Cloudflare Workers and Deno have a `WorkerGlobalScope` as well, but do not
 * call themselves Mozilla, as every browser does.
 */
export function isPublicPlace(): boolean {
  const scope = globalThis as {
    window?: { document?: unknown }
    WorkerGlobalScope?: unknown
    navigator?: { userAgent?: unknown; product?: unknown }
  }
  if (scope.window?.document !== undefined || scope.navigator?.product === 'ReactNative') return true
  return typeof scope.WorkerGlobalScope === 'function' && String(scope.navigator?.userAgent).startsWith('Mozilla/')
}
