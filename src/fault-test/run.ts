import type { RecordedRequest, Sandbox, SandboxConversation } from '../sandbox/index.ts'
import { untilAborted } from '../shared/abort.ts'
import { definitionOf, type FaultTestChange, type InjectedFault, itemAfter, itemOf, type Place } from './faults.ts'
import { LastLook } from './last-look.ts'
import type { FaultTestOptions, FaultTestOutcome } from './options.ts'
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

/** The result of a run. */
export interface Run extends Effects {
  readonly what: Subject
  /** Undefined in a run without faults. */
  readonly injected: InjectedFault | undefined
  readonly outcome: FaultTestOutcome<unknown, unknown>
  /** The requests that the job sent. Requests of `setup` and `check` are left out. */
  readonly requests: readonly RecordedRequest[]
  /** Number of places where a fault can be injected, for each kind except requests. */
  readonly counts: Readonly<Record<Exclude<Place, 'request'>, number>>
  /** The writes that had been applied when the fault was injected. */
  readonly appliedBefore: readonly NamedWrite[]
  /** Whether the last call of the job met a fault. */
  readonly hasMetFault: boolean
  /** The error of each call of the job that rejected. */
  readonly errors: readonly unknown[]
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

/** Follows a run of a job or a program, and changes the data as its fault says. */
export class RunRecord {
  readonly lastLook: LastLook
  /** The change that the customer or a colleague made. */
  change: FaultTestChange | undefined
  readonly #sandbox: Sandbox
  readonly #plan: RunPlan
  readonly #injected: InjectedFault | undefined
  readonly #now: () => number
  /** Numbers of requests and of writes when `setup` had ended. */
  #first = { requests: 0, writes: 0 }
  /** Number of writes that had been applied when the fault was injected. */
  #writesBefore: number | undefined

  /** @param now returns the time on the sandbox's clock, in milliseconds */
  constructor(sandbox: Sandbox, plan: RunPlan, injected: InjectedFault | undefined, now: () => number) {
    this.#sandbox = sandbox
    this.#plan = plan
    this.#injected = injected
    this.#now = now
    this.lastLook = new LastLook(now)
  }

  /** Called after `setup`, whose requests and writes are not of the run. */
  begin(): void {
    this.#first = { requests: this.#sandbox.requests.length, writes: this.#sandbox.state.writes.length }
  }

  /** Called when the run has reached the place of its fault. Revokes the tokens if the fault says so. */
  meetFault(): void {
    this.#writesBefore = this.#sandbox.state.writes.length
    if (this.#injected?.fault === 'revoked') this.#sandbox.revokeAll()
  }

  /**
   * Called after each request. Changes the data if the fault says so.
   *
   * @param number the number of the request in a run without faults
   */
  changeAfter(number: number, path: string): void {
    const injected = this.#injected
    const { change, isBefore } = definitionOf(injected)
    if (injected === undefined || change === undefined) return
    if (number !== (isBefore ? injected.at - 1 : injected.at)) return
    const item = (isBefore ? undefined : itemOf(path)) ?? itemAfter(this.#plan.cleanRequests, injected.at)
    const found = item && this.#sandbox.state[item.list].find(({ id }) => id === item.id)
    if (found === undefined) return
    const message = change(this.#sandbox, found as SandboxConversation)
    this.change = { fault: injected.fault, id: found.id, message, at: this.#now() }
    if (message !== undefined) this.lastLook.wrote(found.id)
  }

  /** Whether one of the requests after the first `skipped` ones met the fault. */
  hasMetFault(skipped: number): boolean {
    // A change by a colleague or the customer stays in the data, so each later call or start meets the fault.
    if (definitionOf(this.#injected).change !== undefined) return true
    return this.#sandbox.requests.slice(skipped).some(({ fault, status }) => fault !== undefined || status === 401)
  }

  /** Reads what the run has done, and then asks `check`, which takes the change into account or not. */
  async end(check: () => unknown, takesChange: boolean) {
    const { unseen, signal } = this.#plan
    const requests = this.#sandbox.requests.slice(this.#first.requests)
    const effects = effectsOf(this.#sandbox, this.#first.writes)
    const checking = Promise.resolve().then(check)
    const caught = checking.then(
      () => undefined,
      (thrown: unknown) => ({ thrown }),
    )
    const checkError = await untilAborted(caught, signal)
    // After a change by a colleague or the customer, the data can differ from the data that the job has read.
    const isIgnored = definitionOf(this.#injected).change !== undefined && !takesChange
    return {
      ...effects,
      injected: this.#injected,
      requests,
      appliedBefore: effects.writes.slice(0, (this.#writesBefore ?? this.#first.writes) - this.#first.writes),
      change: this.change,
      unseen: unseen === 'allowed' ? [] : this.lastLook.unseen,
      checkError: isIgnored ? undefined : checkError,
    }
  }
}
