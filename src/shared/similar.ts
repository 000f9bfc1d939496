/** Returns the known name that a misspelled name resembles most, if they differ in at most two letters or in case. */
export function findSimilar(name: string, names: readonly string[]): string | undefined {
  const [nearest] = names
    .map((known) => ({ known, distance: distanceBetween(name.toLowerCase(), known.toLowerCase()) }))
    .filter(({ known, distance }) => distance <= Math.min(3, known.length / 3))
    .sort((a, b) => a.distance - b.distance)
  return nearest?.known
}

/**
 * Returns how many letters have to be added, removed or replaced to make one text another (Levenshtein). Two neighbours
 * that are swapped count as one.
 */
function distanceBetween(one: string, other: string): number {
  const first = Array.from(one).findIndex((letter, index) => letter !== other[index])
  if (one === `${other.slice(0, first)}${other[first + 1]}${other[first]}${other.slice(first + 2)}`) return 1
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, letter] of Array.from(one.slice(0, 50)).entries()) {
    const next = [index + 1]
    for (let place = 0; place < other.length; place += 1) {
      const replaced = (row[place] ?? 0) + (letter === other[place] ? 0 : 1)
      next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}
