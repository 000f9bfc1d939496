/**
 * Maps the items of a source, with at most `limit` of them in progress, and yields the results in the order of the source.
 */
export async function* mapBounded<Item, Result>(
  source: AsyncIterable<Item>,
  limit: number,
  map: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const running: Promise<Result>[] = []
  const next = () => running.shift() as Promise<Result>
  for await (const item of source) {
    const result = map(item)
    // What fails is heard when its turn comes.
    result.catch(() => {})
    running.push(result)
    if (running.length >= limit) yield await next()
  }
  while (running.length > 0) yield await next()
}
