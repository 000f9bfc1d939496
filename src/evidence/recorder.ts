import type { Middleware, OutgoingCall, Reply } from '../core/index.ts'
import { checkNames, checkObject, checkOptionalFunction } from '../shared/check-options.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { notify } from '../shared/notify.ts'
import type { EvidenceFile } from './evidence-file.ts'
import { Notebook } from './notebook.ts'

/** The options of `evidenceRecorder`. */
export interface EvidenceRecorderOptions {
  /**
   * Called with everything that was seen so far, each time that a call has shown something new. Its error is ignored.
   */
  readonly onEvidence?: ((evidence: EvidenceFile) => void) | undefined
}

/** Records facts about the service from the calls of an app. */
export interface EvidenceRecorder {
  /** Pass this to the option `middleware` of a client. */
  readonly middleware: Middleware
  /** Returns the observations so far, in the same format as `probe`. */
  evidence(): EvidenceFile
}

const mostFacts = 500
const mostRemembered = 100

/**
 * Returns a middleware that records which operations of an app succeed, which fields responses have, and whether
 * cursors stay valid after writes. The middleware leaves calls as they are. It keeps up to 500 facts in memory, which
 * consist of names, counts and days. Custom operations are left out.
 *
 * @example
 * const recorder = evidenceRecorder({ onEvidence: (evidence) => console.log(describeEvidence(evidence).join('\n')) })
 * const recorded = new SupportWorkspace({ baseUrl, accessToken, middleware: recorder.middleware })
 * await recorded.contacts.list()
 *
 * @throws InvalidArgumentError if an option is misspelled, or `onEvidence` is not a function.
 */
export function evidenceRecorder(options: EvidenceRecorderOptions = {}): EvidenceRecorder {
  checkObject('options', options, 'Pass an object with `onEvidence`, or leave it out.')
  checkNames(options, { onEvidence: 1 }, '`evidenceRecorder`')
  const onEvidence = checkOptionalFunction('onEvidence', options.onEvidence)
  const notes = new AppNotes(new Notebook(mostFacts))
  const record = (call: OutgoingCall, reply: Reply | undefined, thrown?: unknown) => {
    if (notes.note(call, reply, thrown)) queueMicrotask(() => notify(onEvidence, notes.notebook.evidence()))
  }
  return {
    async middleware(call, next) {
      try {
        const reply = await next(call)
        // A custom operation has no evidence, so it is not recorded.
        if (call.operation.evidence !== undefined) notify(record, call, reply)
        return reply
      } catch (thrown) {
        if (call.operation.evidence !== undefined) notify(record, call, undefined, thrown)
        throw thrown
      }
    },
    evidence: () => notes.notebook.evidence(),
  }
}

/**
 * The notes of an app, and what has to be remembered for traits that only a write can show. Ids and cursors stay in
 * memory.
 */
class AppNotes {
  readonly notebook: Notebook
  /** The entry of each conversation as it was last listed, and whether a message was sent since. */
  readonly #entries = new Map<string, { readonly text: string; readonly hasMessage: boolean }>()
  /** The number of writes before each cursor was issued. */
  readonly #cursors = new Map<string, number>()
  #writes = 0

  constructor(notebook: Notebook) {
    this.notebook = notebook
  }

  /** Returns whether a call showed something new. */
  note(call: OutgoingCall, reply: Reply | undefined, thrown: unknown): boolean {
    const { id, method } = call.operation
    const status = reply?.response.status ?? (isObject(thrown) ? thrown.status : undefined)
    if (typeof status !== 'number') return false
    const isNew = [this.notebook.noteResponse(id, status, reply?.data), this.#noteCursor(call, status)]
    if (reply === undefined) return isNew.includes(true)
    if (method !== 'GET') this.#writes += 1
    for (const cursor of Object.values(reply.cursors))
      if (cursor !== null) remember(this.#cursors, cursor, this.#writes)
    if (id === 'messages.create') this.#noteMessage(call.path)
    if (id === 'conversations.list' && Array.isArray(reply.data)) {
      isNew.push(...reply.data.filter(isObject).map((entry) => this.#noteEntry(entry)))
    }
    return isNew.includes(true)
  }

  /** Notes whether a cursor that was issued before a write is accepted after it. */
  #noteCursor({ query }: OutgoingCall, status: number): boolean {
    const writes = this.#cursors.get(String(query.after ?? query.before))
    if (writes === undefined || writes === this.#writes) return false
    if (status < 300) return this.notebook.note('traits', 'cursor.stale', 'accepted')
    return [400, 410, 422].includes(status) && this.notebook.note('traits', 'cursor.stale', `rejected with ${status}`)
  }

  #noteMessage(path: string): void {
    const id = decodeURIComponent(/\/conversations\/([^/]+)\//.exec(path)?.[1] ?? '')
    const entry = this.#entries.get(id)
    if (entry !== undefined) this.#entries.set(id, { ...entry, hasMessage: true })
  }

  #noteEntry({ id, last_message, last_message_inserted_at }: JsonObject): boolean {
    const text = JSON.stringify([last_message, last_message_inserted_at])
    const before = this.#entries.get(String(id))
    remember(this.#entries, String(id), { text, hasMessage: false })
    if (before?.hasMessage !== true) return false
    return this.notebook.note('traits', 'entry.message', before.text === text ? 'stays' : 'changes')
  }
}

/** Adds an entry, and forgets the oldest of too many. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > mostRemembered && oldest !== undefined) map.delete(oldest)
}
