/** Holds back the calls of one client while the service asks it to wait, so that parallel loops do not stampede. */
export class RateGate {
  #opensAt = 0

  /** How long the gate stays shut, in ms; 0 when it is open. */
  get remaining(): number {
    return Math.max(0, this.#opensAt - Date.now())
  }

  /** Shuts the gate for some ms, or leaves it shut for longer. */
  shut(duration: number): void {
    this.#opensAt = Math.max(this.#opensAt, Date.now() + duration)
  }
}
