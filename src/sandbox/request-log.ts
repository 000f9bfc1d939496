import type { OpenRecord, RecordedRequest } from './incoming-request.ts'

/** The most recent requests. Tells listeners about each request that was handled. */
export class RequestLog {
  /** Oldest first. */
  readonly requests: RecordedRequest[] = []
  readonly #capacity: number
  readonly #listeners = new Set<(request: RecordedRequest) => void>()

  /** Keeps up to `capacity` requests, so that a sandbox that runs for days does not fill the memory. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Adds a request that is not handled yet. */
  add(record: OpenRecord): void {
    this.requests.push(record)
    if (this.requests.length > this.#capacity) this.requests.shift()
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
