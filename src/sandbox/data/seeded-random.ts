/** A repeatable source of random choices: the same seed produces the same data in every run. */
export interface SeededRandom {
  /** Returns a number from 0 up to, but not including, 1. */
  next(): number
  /** Returns an integer from `low` to `high`, both included. */
  between(low: number, high: number): number
  pick<Choice>(choices: readonly [Choice, ...Choice[]]): Choice
  /** Returns `true` with this probability, from 0 to 1. */
  chance(probability: number): boolean
  id(prefix: string): string
}

export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0

  // mulberry32: 32 bits of state are enough for sample data, and the sequence is the same on every platform.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  const hexadecimal = (): string => between(0, 0xffffff).toString(16).padStart(6, '0')

  return {
    next,
    between,
    pick: (choices) => choices[between(0, choices.length - 1)] ?? choices[0],
    chance: (probability) => next() < probability,
    id: (prefix) => `${prefix}_${hexadecimal()}${hexadecimal()}`,
  }
}
