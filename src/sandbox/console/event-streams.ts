/** Streams of server-sent events that tell open consoles to read the state again. */
export class EventStreams {
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>()

  open(): Response {
    let controller: ReadableStreamDefaultController<Uint8Array>
    const body = new ReadableStream<Uint8Array>({
      start: (started) => {
        controller = started
        this.#streams.add(controller)
        controller.enqueue(event)
      },
      cancel: () => void this.#streams.delete(controller),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  notify(): void {
    for (const stream of this.#streams) {
      // An event says only that something changed, so a console that is still reading the last one needs no other.
      if ((stream.desiredSize ?? 0) > 0) stream.enqueue(event)
    }
  }
}

const event = new TextEncoder().encode('data: changed\n\n')
