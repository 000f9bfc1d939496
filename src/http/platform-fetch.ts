/**
 * The `fetch` that the platform had when this package was loaded. One that was put in its place later is a wrapper of
 * somebody's, and what its errors say proves nothing. An object, so that a test can stand in for the platform.
 */
export const platform: { readonly fetch: unknown } = { fetch: /* @__PURE__ */ globalFetch() }

/** Whether the errors of this `fetch` prove that no connection opened: nothing between it and the network may retry. */
export function isPlatformFetch(fetch: unknown): boolean {
  if (fetch !== globalThis.fetch || globalFetch() !== platform.fetch) return false
  return dispatcherNames.every((name) => isPlainDispatcher(Reflect.get(globalThis, name)))
}

/** The global `fetch`, or its getter, without calling that: loading the package must not load the platform's fetch. */
function globalFetch(): unknown {
  const property = Object.getOwnPropertyDescriptor(globalThis, 'fetch')
  return property?.value ?? property?.get
}

/** Where Node's fetch finds the agent that sends its requests, also one that a program has set with undici. */
const dispatcherNames = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')]

/** An agent that retries by itself, such as undici's `RetryAgent` or a composed one, hides what was sent before. */
function isPlainDispatcher(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher === null) return true
  const prototype = Object.getPrototypeOf(dispatcher)
  // A composed agent is a proxy that has another `dispatch` than its class.
  return (
    plainDispatchers.has(prototype?.constructor?.name) && Reflect.get(dispatcher, 'dispatch') === prototype.dispatch
  )
}

/** The last one is how undici 8 shows the agent of its own global to a Node that knows the older one. */
const plainDispatchers = new Set(['Agent', 'EnvHttpProxyAgent', 'Dispatcher1Wrapper'])
