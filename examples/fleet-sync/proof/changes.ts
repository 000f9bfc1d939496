import type { Sandbox } from 'support-workspace-sdk/sandbox'

/** What other people did in an organization. */
export interface ChangeLog {
  /** Ids of the items that were deleted. */
  readonly deleted: Set<string>
  /** How often each item was changed, at most: a change can have no effect. */
  readonly edits: Map<string, number>
}

interface OpenLog extends ChangeLog {
  /** Messages that this process has written, so that it can change them. */
  readonly own: { readonly conversation: string; readonly id: string }[]
}

/** Changes the data of the service as other people do, through its API and within its limits. */
export class Changes {
  readonly #sandbox: Sandbox
  /** A token of each organization, by its id. */
  readonly #tokens: ReadonlyMap<string, string>
  readonly #logs = new Map<string, OpenLog>()
  readonly #conversations = new Map<string, string[]>()

  constructor(sandbox: Sandbox, tokens: ReadonlyMap<string, string>) {
    this.#sandbox = sandbox
    this.#tokens = tokens
  }

  logOf(organization: string): ChangeLog {
    const { deleted, edits } = this.#log(organization)
    return { deleted, edits }
  }

  /** Adds, edits or deletes something. Nothing happens if the organization's limit is reached. */
  async make(organization: string): Promise<void> {
    const { own, deleted } = this.#log(organization)
    const conversation = pick(this.#conversationsOf(organization))
    const mine = pick(own)
    const choice = Math.random()
    if (choice < 0.15 || conversation === undefined) await this.addConversation(organization)
    else if (choice < 0.3) {
      const body = { status: pick(['open', 'waiting', 'closed', 'resolved']), pinned: Math.random() < 0.5 }
      if (await this.#send(organization, 'PATCH', `/${conversation}`, body)) this.#countEdit(organization, conversation)
    } else if (choice < 0.6 || mine === undefined) {
      const message = await this.#send(organization, 'POST', `/${conversation}/messages`, { body_html: randomText() })
      if (message === undefined) return
      own.push({ conversation, id: message.id })
      this.#countEdit(organization, conversation)
    } else if (choice < 0.8) {
      const path = `/${mine.conversation}/messages/${mine.id}`
      if ((await this.#send(organization, 'PATCH', path, { body_html: randomText() })) === undefined) return
      this.#countEdit(organization, mine.id)
      this.#countEdit(organization, mine.conversation)
    } else {
      own.splice(own.indexOf(mine), 1)
      const path = `/${mine.conversation}/messages/${mine.id}`
      if ((await this.#send(organization, 'DELETE', path)) === undefined) return
      deleted.add(mine.id)
      this.#countEdit(organization, mine.conversation)
    }
  }

  /** Returns whether the limit allowed it. */
  async addConversation(organization: string): Promise<boolean> {
    const body = {
      customer_email: `${Math.random().toString(36).slice(2)}@customer.example`,
      initial_message: randomText(),
    }
    const conversation = await this.#send(organization, 'POST', '', body)
    if (conversation !== undefined) this.#conversationsOf(organization).push(conversation.id)
    return conversation !== undefined
  }

  /** Sends a request that changes nothing. Returns whether the limit allowed it. */
  async read(organization: string): Promise<boolean> {
    // Lost responses are meant for the workers. Here they do not matter.
    const response = await this.#fetch(organization, 'GET', '?limit=1').catch(() => undefined)
    return response?.status !== 429
  }

  /** Returns the new state, or undefined if the limit is reached or the item was deleted meanwhile. */
  async #send(organization: string, method: string, path: string, body?: object): Promise<{ id: string } | undefined> {
    const response = await this.#fetch(organization, method, path, body)
    if (response.status === 429 || response.status === 404) return undefined
    if (!response.ok) throw new Error(`A change failed with ${response.status}: ${await response.text()}`)
    const text = await response.text()
    return text === '' ? { id: '' } : (JSON.parse(text) as { data: { id: string } }).data
  }

  #fetch(organization: string, method: string, path: string, body?: object): Promise<Response> {
    const authorization = `Bearer ${this.#tokens.get(organization)}`
    return this.#sandbox.fetch(`${this.#sandbox.url}/api/oauth/v1/conversations${path}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  }

  #countEdit(organization: string, id: string): void {
    const { edits } = this.#log(organization)
    edits.set(id, (edits.get(id) ?? 0) + 1)
  }

  #log(organization: string): OpenLog {
    const log = this.#logs.get(organization) ?? { deleted: new Set(), edits: new Map(), own: [] }
    this.#logs.set(organization, log)
    return log
  }

  #conversationsOf(organization: string): string[] {
    const known =
      this.#conversations.get(organization) ?? this.#sandbox.state.of(organization).conversations.map(({ id }) => id)
    this.#conversations.set(organization, known)
    return known
  }
}

function randomText(): string {
  return `<p>${Math.random().toString(36).repeat(3)}</p>`
}

function pick<Value>(values: readonly Value[]): Value | undefined {
  return values[Math.floor(Math.random() * values.length)]
}
