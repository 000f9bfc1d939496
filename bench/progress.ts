export interface Progress {
  report(done: number, total: number, step: string): void
  /** Removes the progress line. */
  finish(): void
}

/** Shows the progress of a suite: on a terminal as one line that is rewritten, otherwise only as a heading. */
export function createProgress(title: string): Progress {
  const { isTTY, columns } = process.stdout
  console.log(`\n${title}`)
  if (!isTTY) return { report: () => {}, finish: () => {} }
  const rewrite = (text: string) => process.stdout.write(`\r\x1b[K${text.slice(0, (columns || 80) - 1)}`)
  return {
    report: (done, total, step) => rewrite(`${String(Math.round((100 * done) / total)).padStart(3)} %  ${step}`),
    finish: () => rewrite(''),
  }
}
