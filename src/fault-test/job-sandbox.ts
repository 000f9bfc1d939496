import { SupportWorkspace } from '../client/index.ts'
import type { Sandbox } from '../sandbox/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { Clock } from './clock.ts'
import { describeError } from './describe-error.ts'
import { definitionOf, type InjectedFault, placeOf } from './faults.ts'
import { Durable, JobProcess } from './job-process.ts'
import type { FaultTestJob, FaultTestOptions, FaultTestWorld } from './options.ts'
import { type Ending, type RunPlan, RunSandbox } from './run.ts'
import { scopes } from './simulated-time.ts'

/** The job and the options that all runs share. */
export interface JobPlan extends RunPlan, Pick<FaultTestOptions, 'setup' | 'check' | 'done' | 'client'> {
  readonly job: FaultTestJob
  /** Ids of the data that each sandbox starts with. */
  readonly ids: ReadonlySet<string>
}

const day = 86_400_000

/** A fresh sandbox in simulated time, with a fault that meets the job. Its `fetch` counts the requests of the job. */
export class JobSandbox extends RunSandbox<JobPlan> {
  readonly durable = new Durable(() => this.#count('assignment'))
  readonly counts = { request: 0, assignment: 0 }
  /** Unhandled errors of the job. */
  readonly uncaught: unknown[] = []
  readonly #clock: Clock
  #removeFault: (() => void) | undefined
  readonly #service = new JobProcess([])
  #process = new JobProcess(this.uncaught)

  constructor(plan: JobPlan, injected: InjectedFault | undefined) {
    const clock = new Clock(plan.start)
    super(plan, injected, clock)
    this.#clock = clock
    this.sandbox = { ...this.sandbox, fetch: this.#fetchOf(this.sandbox) }
  }

  /** Adds the fault of the run, after `setup` has sent its requests. */
  override begin(): void {
    super.begin()
    const { fault, lasts, kills } = definitionOf(this.injected)
    if (this.injected === undefined || fault === undefined) return
    const rule = { ...fault, after: this.injected.at - 1, times: lasts ? Number.POSITIVE_INFINITY : 1 }
    this.#removeFault = this.sandbox.faults.add(kills ? { ...rule, onDrop: () => this.#process.kill() } : rule)
  }

  /** Calls the job, and advances the time until the job ends, is killed or is stopped. */
  async call(job: (world: FaultTestWorld<undefined>) => Promise<unknown>): Promise<Ending> {
    const { sandbox, durable, counts, token: accessToken } = this
    const [clock, owner] = [this.#clock, this.#process]
    const { maxRequests, client, signal } = this.plan
    const { url: baseUrl, fetch } = sandbox
    const workspace = new SupportWorkspace({ ...client, baseUrl, accessToken, actor: 'self', fetch })
    const [state, storage] = [durable.stateFor(owner), durable.storageFor(owner)]
    let ending: Ending | undefined
    scopes.run({ clock, owner }, async () => {
      try {
        const value = await job({ workspace, sandbox, state, storage, context: undefined })
        ending = { words: 'resolved', end: 'done', value }
      } catch (error) {
        const { name, remedy } = describeError(error)
        ending = { words: `rejected with ${name}${remedy === undefined ? '' : ` (${remedy})`}`, remedy, error }
      }
    })
    const lastRequest = counts.request + maxRequests
    const isOver = () =>
      ending !== undefined || owner.isEnded || counts.request > lastRequest || signal?.aborted === true
    const why = await clock.drive(isOver, day)
    if (signal?.aborted) owner.kill()
    throwIfAborted(signal)
    if (owner.isEnded) {
      this.#process = new JobProcess(this.uncaught)
      return { words: 'was killed', isKilled: true }
    }
    if (ending !== undefined) return ending
    owner.kill()
    return { words: `was stopped after ${why ?? `${maxRequests} requests`}`, end: 'never-ends' }
  }

  /** Advances the time by `delay` milliseconds. Returns the reason if real input or output takes too long. */
  protected override async pause(delay: number): Promise<string | undefined> {
    const clock = this.#clock
    const end = clock.now + delay
    const why = await clock.drive(() => this.plan.signal?.aborted === true, delay, 0)
    clock.now = Math.max(clock.now, end)
    return clock.activity.underWay().length > 0 ? why : undefined
  }

  /** Ends the process and the fault, before `check` looks at the sandbox. */
  stop(): void {
    this.#process.kill()
    this.#removeFault?.()
  }

  #fetchOf(real: Sandbox): Sandbox['fetch'] {
    return (input, init) => {
      const [clock, scope] = [this.#clock, scopes.getStore()]
      // Requests of `setup` and `check` are not counted.
      if (scope?.clock !== clock) return real.fetch(input, init)
      return scope.owner.whileAlive(() => {
        this.#count('request')
        const number = this.counts.request
        const { method = 'GET', url } = input instanceof Request ? input : { method: init?.method, url: String(input) }
        const respond = this.lastLook.send(method, new URL(url))
        const responding = scopes.run({ clock, owner: this.#service }, () => real.fetch(input, init))
        responding.then(
          ({ status }) => respond(status),
          () => respond(undefined),
        )
        return responding.finally(() => this.changeAfter(number, new URL(url).pathname))
      })
    }
  }

  /** Counts a request or an assignment, and kills the process if the fault says so. */
  #count(place: 'request' | 'assignment'): void {
    this.counts[place] += 1
    const { injected } = this
    if (injected?.at !== this.counts[place] || placeOf(injected.fault) !== place) return
    this.meetFault()
    if (place === 'assignment') this.#process.kill()
  }
}
