import type { Message, SupportWorkspace } from '../client/index.ts'
import { type ErrorDetails, RequestError } from '../errors/index.ts'
import { safeCause } from '../errors/redact.ts'
import { type Sender as Person, pagesOf } from '../journal/interface.ts'
import { notify } from '../shared/notify.ts'
import type { ApprovalsOptions } from './approvals-options.ts'
import { isOver, type ProposalEntry } from './proposal.ts'
import type { Records } from './records.ts'

/** Why a write is not sent. With `elsewhere`, it is left to another process or token. */
export class Prevented extends Error {
  readonly end: 'stale' | 'expired' | 'elsewhere'
  constructor(end: Prevented['end'], reason: string) {
    super(reason)
    this.end = end
  }
}

/** The last looks at one proposal: everything that can have changed since a person approved. */
export class Look {
  readonly entry: ProposalEntry
  /** The ids of messages that were let pass, although the draft has not read them. None is the effect of the write. */
  readonly passed: Set<string>
  readonly #key: string
  readonly #records: Records
  readonly #ignore: ApprovalsOptions['ignore']
  readonly #seen = new Set<string>()
  /** Whether all messages were read, and the service lists the newest first. */
  #isWhole = false

  /** @param entry the proposal as it was approved */
  constructor(key: string, entry: ProposalEntry, records: Records, ignore: ApprovalsOptions['ignore']) {
    this.entry = entry
    this.passed = new Set(entry.passed)
    this.#key = key
    this.#records = records
    this.#ignore = ignore
  }

  /** @throws Prevented if the write must not be sent */
  async run(client: SupportWorkspace, person: Person | undefined): Promise<void> {
    const { service, organization, author, known, parameters } = this.entry.content
    if (person?.service !== service || person.organization !== organization || person.author !== author) {
      throw new Prevented('elsewhere', 'The token belongs to somebody else.')
    }
    if (isOver(this.entry)) throw new Prevented('expired', 'It has expired.')
    const { conversation_id: conversation } = parameters
    if (known === undefined || conversation === undefined) return
    const times: number[] = []
    let pages = 0
    for await (const page of pagesOf((query) => client.messages.list(conversation, query, { prefetch: false }))) {
      const unseen = page.filter(({ id }) => !this.#seen.has(id))
      // What follows is older. A long list takes too long to be read twice before the write has to leave.
      if (this.#isWhole && unseen.length === 0) return
      for (const message of unseen) {
        await this.#judge(message)
        this.#seen.add(message.id)
      }
      pages += 1
      times.push(...page.map(({ inserted_at }) => inserted_at ?? Number.NaN))
    }
    const isSorted = times.every((time, index) => index === 0 || time <= (times[index - 1] as number))
    // Equal times do not tell whether the newest are on the first page.
    const isTelling = pages <= 1 || (times[0] as number) > (times.at(-1) as number)
    this.#isWhole = isSorted && isTelling
  }

  async #judge(message: Message): Promise<void> {
    const { content } = this.entry
    if (content.known?.includes(message.id)) return
    const isOurs = () => this.#records.isOurs(content, message.id)
    if (!this.#isIgnored(message) && !(await isOurs())) {
      const isOfSibling = await this.#records.isSiblingSending(this.#key, content)
      if (isOfSibling) {
        const hint = 'The next `send` tries again.'
        throw this.#notSent('another reply to the same message is being sent', { hint, remedy: 'retry' })
      }
      // The other one can have been noted since.
      if (!(await isOurs())) throw new Prevented('stale', `The message ${message.id} is newer.`)
    }
    this.passed.add(message.id)
  }

  /** Asks the caller. What fails there holds up no other conversation. */
  #isIgnored(message: Message): boolean {
    try {
      const answer: unknown = this.#ignore?.(message)
      if (typeof Object(answer).then !== 'function') return answer === true
      notify(() => answer)
    } catch (thrown) {
      const details = { hint: 'Fix that function.', cause: safeCause(thrown) }
      throw this.#notSent('the `ignore` option has thrown an error', details)
    }
    throw this.#notSent('the `ignore` option has returned a promise', { hint: 'Return true or false from it.' })
  }

  #notSent(reason: string, { remedy = 'fix', ...details }: ErrorDetails): RequestError {
    return new RequestError(`"${this.#key}" was not sent, because ${reason}.`, {
      ...details,
      operation: this.entry.content.operation.id,
      outcome: 'not-sent',
      remedy,
    })
  }
}
