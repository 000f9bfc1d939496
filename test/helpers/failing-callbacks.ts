/** Returns callbacks that fail with an error, once synchronously and once asynchronously, as rows for `test.each`. */
export function failingCallbacks(error: unknown): [title: string, callback: () => Promise<never>][] {
  return [
    [
      'throws',
      () => {
        throw error
      },
    ],
    ['rejects', () => Promise.reject(error)],
  ]
}
