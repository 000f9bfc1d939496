import { type StoragePage, unfit } from './key-value-storage.ts'

/**
 * Runs tasks of the same key one after the other, in the order of the calls. Tasks of different keys run concurrently.
 */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key)
    const running = before === undefined ? task() : before.catch(() => {}).then(task)
    this.#last.set(key, running)
    try {
      return await running
    } finally {
      if (this.#last.get(key) === running) this.#last.delete(key)
    }
  }
}

/** The time limit of each call of a storage, in milliseconds. Prevents that a lost response blocks its key. */
const timeLimit = 30_000

/** Awaits a result of a storage, up to the time limit. */
export async function inTime<Value>(result: Value, limit = timeLimit): Promise<Awaited<Value>> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not respond within ${limit / 1000} seconds.`)), limit)
  })
  try {
    return await Promise.race([result, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Yields the pages of a storage, and awaits each of them up to the time limit. */
export async function* eachInTime(pages: AsyncIterable<StoragePage>): AsyncGenerator<StoragePage, void, undefined> {
  if (typeof Object(pages)[Symbol.asyncIterator] !== 'function') {
    // If `list` is an async function that rejected, its error explains the problem better. It must also be handled.
    await inTime(pages)
    throw unfit('`list` returned no async iterable.')
  }
  const iterator = pages[Symbol.asyncIterator]()
  let isReading = true
  try {
    for (;;) {
      const { done, value } = await inTime(iterator.next())
      if (done === true) return
      isReading = false
      yield value
      isReading = true
    }
  } finally {
    // Only if the caller stops between two pages, the iterator is still open.
    if (!isReading) await inTime(iterator.return?.())
  }
}
