import type { IncomingRequest, RecordedRequest } from './incoming-request.ts'

/** The most recent requests, up to a number and a total size. Tells listeners about each request that was handled. */
export class RequestLog {
  /** Oldest first. */
  readonly requests: RecordedRequest[] = []
  readonly #limits: { readonly requests: number; readonly characters: number }
  /** The number of characters of each request, in the same order. */
  #sizes: number[] = []
  #totalSize = 0
  readonly #listeners = new Set<(request: RecordedRequest) => void>()

  /** Keeps requests up to these limits, so that a sandbox that runs for days does not fill the memory. */
  constructor(limits: { requests: number; characters: number }) {
    this.#limits = limits
  }

  /** Adds a request that is not handled yet, and removes the oldest ones that exceed the limits. */
  add({ record, url, headers, bodyText }: IncomingRequest): void {
    const size = [...headers].reduce((sum, header) => sum + header.join().length, url.href.length + bodyText.length)
    this.requests.push(record)
    this.#sizes.push(size)
    this.#totalSize += size
    while (this.requests.length > this.#limits.requests || this.#totalSize > this.#limits.characters) {
      this.requests.shift()
      this.#totalSize -= this.#sizes.shift() ?? 0
    }
  }

  clear(): void {
    this.requests.splice(0)
    this.#sizes = []
    this.#totalSize = 0
  }

  /** Tells the listeners that a request was handled. */
  finish(record: RecordedRequest): void {
    for (const listener of this.#listeners) listener(record)
  }

  /** Adds a listener and returns a function that removes it. */
  onFinish(listener: (request: RecordedRequest) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
