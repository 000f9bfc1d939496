/** Median and quartiles of a sample. */
export interface Figure {
  readonly median: number
  readonly q1: number
  readonly q3: number
}

export function figureOf(sample: readonly number[]): Figure {
  const sorted = sample.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), q1: quantile(sorted, 0.25), q3: quantile(sorted, 0.75) }
}

/** Interpolates linearly between the two nearest values. */
function quantile(sorted: readonly number[], fraction: number): number {
  const position = (sorted.length - 1) * fraction
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return round(below + (above - below) * (position % 1))
}

/** Rounds to four significant digits, so that the results are readable. */
function round(value: number): number {
  return Number(value.toPrecision(4))
}

export function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
