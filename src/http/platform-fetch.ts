/** Functions that count as the platform's own `fetch`. For tests. */
export const provenFetches = /* @__PURE__ */ new WeakSet<object>()

/**
 * Whether the connection errors of a function prove that nothing was sent. It must be the runtime's own `fetch`, without
 * a retrying agent. Any other function may have sent the request before it failed.
 */
export function isPlatformFetch(fetch: unknown): boolean {
  if (typeof fetch !== 'function') return false
  if (!provenFetches.has(fetch) && !isRuntimeFetch(fetch)) return false
  return dispatcherNames.every((name) => isPlainDispatcher(Reflect.get(globalThis, name)))
}

/** Recognizes the runtime's function by its printed text, so that wrappers made before this package loaded are found too. */
function isRuntimeFetch(fetch: { readonly name: string }): boolean {
  const text = Function.prototype.toString.call(fetch)
  if (!runtimeTexts.some((pattern) => pattern.test(text))) return false
  // A bound wrapper in Bun, and a wrapper under Sentry's `toString`, print the text of another function.
  return text.startsWith(`function ${fetch.name}(`)
}

const runtimeTexts = [
  // Browsers, Bun and Workers. Proxies, and bound functions of V8 and Firefox, print no name.
  /^function fetch\(\) \{\s*\[native code\]\s*\}$/,
  // Node. Named `value` in early versions of 22.
  /require\('internal\/deps\/undici\/undici'\)/,
  // Deno up to 2.7, and from 2.8.
  /mainFetch\(request, false, requestObject\.signal\)/,
  /lazyFetch\(\)\.fetch\(\.\.\.new /,
]

/** Where Node's fetch looks up its agent, including one set with undici. */
const dispatcherNames = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]

/** Whether an agent does not retry. One that does, such as undici's `RetryAgent`, hides earlier requests. */
function isPlainDispatcher(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher === null) return true
  const prototype = Object.getPrototypeOf(dispatcher)
  // A composed agent is a proxy with a different `dispatch` than its class.
  return (
    plainDispatchers.has(prototype?.constructor?.name) && Reflect.get(dispatcher, 'dispatch') === prototype.dispatch
  )
}

/** `Dispatcher1Wrapper` is how undici 8 exposes its global agent to older versions of Node. */
const plainDispatchers = new Set(['Agent', 'EnvHttpProxyAgent', 'Dispatcher1Wrapper'])
