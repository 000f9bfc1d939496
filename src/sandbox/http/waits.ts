/** Waits that all end at once when the sandbox closes, so that nothing keeps the process alive. */
export class Waits {
  readonly #pending = new Set<() => void>()

  wait(milliseconds: number | undefined): Promise<void> {
    if (milliseconds === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => finish(), milliseconds)
      const finish = (): void => {
        clearTimeout(timer)
        this.#pending.delete(finish)
        resolve()
      }
      this.#pending.add(finish)
    })
  }

  end(): void {
    for (const finish of this.#pending) finish()
  }
}
