import { createSandbox, type RecordedRequest, type Sandbox, type SandboxConversation } from '../sandbox/index.ts'
import { untilAborted } from '../shared/abort.ts'
import { definitionOf, type FaultTestChange, type InjectedFault, itemAfter, itemOf, type Place } from './faults.ts'
import { LastLook } from './last-look.ts'
import type { FaultTestEnd, FaultTestOptions } from './options.ts'
import { type Effects, effectsOf, type NamedWrite } from './writes.ts'

/** Whether the fault test runs a job or a program. */
export type Subject = 'job' | 'program'

/** What a fault test decides for a run of a job or a program. */
export interface RunPlan extends Pick<FaultTestOptions, 'sandbox' | 'signal' | 'unseen'> {
  /** Milliseconds since the epoch at which the simulated time starts. Also the seed of the random numbers. */
  readonly start: number
  /** Number of requests after which one call of the job, or one start of the program, is stopped. */
  readonly maxRequests: number
  /** The requests of a run without faults. */
  readonly cleanRequests: readonly RecordedRequest[]
}

/** How one call of a job, or one start of a program, ended. */
export interface Ending {
  /** The ending in a few words, for example `was killed`. */
  readonly words: string
  readonly isKilled?: boolean
  /** What an error or an exit code asks for. After other texts than `verify` and `fix`, the job is called again. */
  readonly remedy?: string | undefined
  /** The value that the job resolved with. */
  readonly value?: unknown
  /** The error that the job rejected with. */
  readonly error?: unknown
  /** How the run ends with this call, whatever the remedy is. */
  readonly end?: FaultTestEnd | undefined
}

/** How the calls of a run ended. */
interface Calls {
  readonly end: FaultTestEnd
  /** How each call ended, in a few words. */
  readonly attempts: readonly string[]
  /** The value or the error of the last call of a job. */
  readonly value: unknown
  readonly error: unknown
  /** Whether the last call met a fault. */
  readonly hasMetFault: boolean
}

/** The result of a run. */
export interface Run extends Effects, Calls {
  readonly what: Subject
  /** Undefined in a run without faults. */
  readonly injected: InjectedFault | undefined
  /** The requests that the job sent. Requests of `setup` and `check` are left out. */
  readonly requests: readonly RecordedRequest[]
  /** Number of places where a fault can be injected, for each kind except requests. */
  readonly counts: Readonly<Record<Exclude<Place, 'request'>, number>>
  /** The writes that had been applied when the fault was injected. */
  readonly appliedBefore: readonly NamedWrite[]
  /** Unhandled errors of the job. */
  readonly uncaught: readonly unknown[]
  /** The item ids in the state of a job, or the lines of each file in the option `outputs` of a program. */
  readonly outputs: ReadonlyMap<string, readonly string[]>
  /** The last lines that a program has printed. */
  readonly output: readonly string[]
  /** The change that the customer or a colleague made. */
  readonly change: FaultTestChange | undefined
  /** The paths of messages that were sent without having read what somebody else had written. */
  readonly unseen: readonly string[]
  /** The error of `check`, in an object, because `check` can throw any value. */
  readonly checkError: { readonly thrown: unknown } | undefined
}

/** The default data of each sandbox. */
const defaultData = { organizations: 1, conversations: 12, contacts: 12 }

/** Creates the sandbox of a run. */
export function createRunSandbox({ sandbox }: Pick<FaultTestOptions, 'sandbox'>, now?: () => number): Sandbox {
  return createSandbox({ ...defaultData, ...sandbox, ...(now && { now }) })
}

/** Simulated time at the end of a run for late effects and for work that the job left behind, in milliseconds. */
const afterwards = 300_000

/** The sandbox of a run. Changes its data as the fault of the run says. */
export abstract class RunSandbox<Plan extends RunPlan> {
  sandbox: Sandbox
  /** A token that acts as a person. Replaced after a call that ended with `reconnect`. */
  token: string
  protected readonly lastLook: LastLook
  protected readonly plan: Plan
  protected readonly injected: InjectedFault | undefined
  /** The time of a late effect, while it is applied. */
  protected timeOfEffect: number | undefined
  readonly #now: () => number
  #change: FaultTestChange | undefined
  /** Numbers of requests and of writes when `setup` had ended. */
  #first = { requests: 0, writes: 0 }
  /** Number of writes that had been applied when the fault was injected. */
  #writesBefore: number | undefined

  /** @param clock tells the time of the sandbox, in milliseconds */
  constructor(plan: Plan, injected: InjectedFault | undefined, clock: { readonly now: number }) {
    this.plan = plan
    this.injected = injected
    this.#now = () => this.timeOfEffect ?? clock.now
    this.sandbox = createRunSandbox(plan, this.#now)
    this.token = this.sandbox.issueToken({ actor: 'self' })
    this.lastLook = new LastLook(this.#now)
  }

  /** Called after `setup`, whose requests and writes are not of the run. */
  begin(): void {
    this.#first = { requests: this.sandbox.requests.length, writes: this.sandbox.state.writes.length }
  }

  /** Lets simulated milliseconds pass. Returns why the time has to be cut short, if it has. */
  protected abstract pause(delay: number): Promise<string | undefined>

  /**
   * Calls the job or starts the program again, like a queue or a supervisor, until it is done or cannot be repeated.
   *
   * @param most maximum number of calls
   */
  async repeat(most: number, call: () => Promise<Ending>): Promise<Calls> {
    const attempts: string[] = []
    for (;;) {
      const firstRequest = this.sandbox.requests.length
      const { words, isKilled, remedy, value, error, end } = await call()
      attempts.push(words)
      const isFinal = remedy === 'verify' || remedy === 'fix'
      const ended = end ?? (isFinal ? remedy : attempts.length === most ? 'gave-up' : undefined)
      if (ended !== undefined) {
        const hasMetFault = this.#hasMetFault(firstRequest)
        const unfinished = await this.pause(afterwards)
        if (unfinished !== undefined) attempts.push(`was stopped after ${unfinished}`)
        return { end: unfinished === undefined ? ended : 'never-ends', attempts, value, error, hasMetFault }
      }
      if (remedy === 'reconnect') this.token = this.sandbox.issueToken({ actor: 'self' })
      const { pause = 0 } = isKilled ? definitionOf(this.injected) : {}
      // The pause doubles, as in a queue.
      await this.pause(Math.max(Math.min(5_000 * 2 ** attempts.length, 600_000), pause))
    }
  }

  /** Called when the run has reached the place of its fault. Revokes the tokens if the fault says so. */
  protected meetFault(): void {
    this.#writesBefore = this.sandbox.state.writes.length
    if (this.injected?.fault === 'revoked') this.sandbox.revokeAll()
  }

  /**
   * Called after each request. Changes the data if the fault says so.
   *
   * @param number the number of the request in a run without faults
   */
  protected changeAfter(number: number, path: string): void {
    const { injected, sandbox } = this
    const { change, isBefore } = definitionOf(injected)
    if (injected === undefined || change === undefined) return
    if (number !== (isBefore ? injected.at - 1 : injected.at)) return
    const item = (isBefore ? undefined : itemOf(path)) ?? itemAfter(this.plan.cleanRequests, injected.at)
    const found = item && sandbox.state[item.list].find(({ id }) => id === item.id)
    if (found === undefined) return
    const message = change(sandbox, found as SandboxConversation)
    this.#change = { fault: injected.fault, id: found.id, message, at: this.#now() }
    if (message !== undefined) this.lastLook.wrote(found.id)
  }

  /** Whether one of the requests after the first `skipped` ones met the fault. */
  #hasMetFault(skipped: number): boolean {
    // A change by a colleague or the customer stays in the data, so each later call or start meets the fault.
    if (definitionOf(this.injected).change !== undefined) return true
    return this.sandbox.requests.slice(skipped).some(({ fault, status }) => fault !== undefined || status === 401)
  }

  /** Reads what the run has done, and then asks the option `check`. */
  async end<Outcome>(
    check: ((sandbox: Sandbox, outcome: Outcome, change: FaultTestChange | undefined) => unknown) | undefined,
    outcome: Outcome,
  ) {
    const change = this.#change
    const requests = this.sandbox.requests.slice(this.#first.requests)
    const effects = effectsOf(this.sandbox, this.#first.writes)
    const checking = Promise.resolve().then(() => check?.(this.sandbox, outcome, change))
    const caught = checking.then(
      () => undefined,
      (thrown: unknown) => ({ thrown }),
    )
    const checkError = await untilAborted(caught, this.plan.signal)
    // After a change by a colleague or the customer, the data can differ from the data that the job has read.
    const isIgnored = definitionOf(this.injected).change !== undefined && (check?.length ?? 0) < 3
    return {
      ...effects,
      injected: this.injected,
      requests,
      appliedBefore: effects.writes.slice(0, (this.#writesBefore ?? this.#first.writes) - this.#first.writes),
      change,
      unseen: this.plan.unseen === 'allowed' ? [] : this.lastLook.unseen,
      checkError: isIgnored ? undefined : checkError,
    }
  }
}
