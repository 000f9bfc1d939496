/** Calls a callback of the caller that must not affect the call. Ignores errors and rejections. */
export function notify(report: () => unknown): void {
  try {
    const result = report()
    if (result !== undefined) Promise.resolve(result).catch(() => {})
  } catch {}
}
