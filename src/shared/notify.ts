/** Calls a callback of the caller, if there is one, that must not affect the call. Ignores errors and rejections. */
export function notify<Args extends unknown[]>(report: ((...args: Args) => unknown) | undefined, ...args: Args): void {
  try {
    const result = report?.(...args)
    if (result !== undefined) Promise.resolve(result).catch(() => {})
  } catch {}
}
