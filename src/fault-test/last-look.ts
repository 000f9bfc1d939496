/**
 * How long a message can be under way after the look that precedes it, in milliseconds. A write journal repeats its
 * last look after this time.
 */
const longestLook = 1_000

/** What the job has read of a conversation. */
interface Look {
  /** Time of the last response, in milliseconds. */
  readonly at: number
  /** Whether other requests were in flight at that time. Then later requests do not show that the job went on. */
  readonly isAmongOthers: boolean
  /** Whether the job has sent another request since, and has received its response. */
  isFollowed: boolean
}

/**
 * Follows the requests of a job, to find messages that the job sent without having read what the customer or a
 * colleague had written.
 *
 * A message right after the response of a look is not counted, because no job can know what arrives between that
 * response and its own request.
 */
export class LastLook {
  /** The paths of the messages that were sent without having read the newest message of somebody else. */
  readonly unseen: string[] = []
  readonly #now: () => number
  /** By the id of the conversation, or by `list` for the list of conversations. */
  readonly #looks = new Map<string, Look>()
  /** Conversations in which somebody else has written, and the job has not read it. */
  readonly #unread = new Set<string>()
  /** Number of requests that have no response yet. */
  #inFlight = 0

  /** @param now returns the time on the sandbox's clock, in milliseconds */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Called when the customer or a colleague has written a message. */
  wrote(conversation: string): void {
    this.#unread.add(conversation)
  }

  /** Called before each request. Returns the function to call with the status of the response, if there is one. */
  send(method: string, url: URL): (status: number | undefined) => void {
    const [path, id, messages] = /\/conversations(?:\/([^/]+)(\/messages)?)?$/.exec(url.pathname) ?? []
    const isLook = method === 'GET' && path !== undefined
    // A later page of a conversation does not show its newest message.
    const shows = url.searchParams.has('after')
      ? []
      : [...this.#unread].filter((each) => id === undefined || each === id)
    const isBlind = method === 'POST' && messages !== undefined && id !== undefined && this.#isBlind(id)
    const looks = [...this.#looks.values()].filter(({ isAmongOthers }) => !isAmongOthers)
    this.#inFlight += 1
    return (status) => {
      this.#inFlight -= 1
      for (const look of looks) look.isFollowed = true
      if (status === undefined || status >= 400) return
      if (isBlind) this.unseen.push(url.pathname)
      if (!isLook) return
      this.#looks.set(id ?? 'list', { at: this.#now(), isAmongOthers: this.#inFlight > 0, isFollowed: false })
      for (const conversation of shows) this.#unread.delete(conversation)
    }
  }

  /** Whether somebody else has written in a conversation, and the job goes on without having looked. */
  #isBlind(conversation: string): boolean {
    if (!this.#unread.has(conversation)) return false
    const looks = [this.#looks.get(conversation), this.#looks.get('list')]
    return looks.every((look) => look === undefined || look.isFollowed || this.#now() - look.at > longestLook)
  }
}
