import { SupportWorkspace } from '../client/index.ts'
import { createSandbox, type Sandbox } from '../sandbox/index.ts'
import { throwIfAborted } from '../shared/abort.ts'
import { Clock } from './clock.ts'
import { definitionOf, type InjectedFault, placeOf } from './faults.ts'
import { Durable, JobProcess } from './job-process.ts'
import type { FaultTestOptions, FaultTestWorld } from './options.ts'
import { type RunPlan, RunRecord } from './run.ts'
import { scopes } from './simulated-time.ts'

/** How one call of the job ended. */
export type Ending =
  | { readonly kind: 'resolved'; readonly value: unknown }
  | { readonly kind: 'rejected'; readonly error: unknown }
  | { readonly kind: 'killed' }
  | { readonly kind: 'stopped'; readonly why: string }

/** The options of a `JobSandbox`. */
export interface JobSandboxOptions extends RunPlan, Pick<FaultTestOptions, 'client'> {}

const day = 86_400_000

/** The default data of each sandbox. */
const defaultData = { organizations: 1, conversations: 12, contacts: 12 }

/** Creates the sandbox of a run. */
export function createRunSandbox({ sandbox }: Pick<FaultTestOptions, 'sandbox'>, now?: () => number): Sandbox {
  return createSandbox({ ...defaultData, ...sandbox, ...(now && { now }) })
}

/** A fresh sandbox in simulated time, with a fault that meets the job. */
export class JobSandbox {
  readonly clock: Clock
  /** The sandbox of the run. Its `fetch` counts the requests of the job's process. */
  readonly sandbox: Sandbox
  readonly durable = new Durable(() => this.#count('assignments'))
  readonly counts = { requests: 0, assignments: 0 }
  /** Unhandled errors of the job. */
  readonly uncaught: unknown[] = []
  readonly record: RunRecord
  readonly #options: JobSandboxOptions
  readonly #injected: InjectedFault | undefined
  #removeFault: (() => void) | undefined
  readonly #service = new JobProcess([])
  #process = new JobProcess(this.uncaught)

  constructor(options: JobSandboxOptions, injected: InjectedFault | undefined) {
    this.#options = options
    this.#injected = injected
    this.clock = new Clock(options.start)
    const now = () => this.clock.now
    const real = createRunSandbox(options, now)
    this.record = new RunRecord(real, options, injected, now)
    this.sandbox = { ...real, fetch: this.#fetchOf(real) }
  }

  /** Adds the fault of the run, after `setup` has sent its requests. */
  begin(): void {
    this.record.begin()
    const { fault, lasts, kills } = definitionOf(this.#injected)
    if (this.#injected === undefined || fault === undefined) return
    const rule = { ...fault, after: this.#injected.at - 1, times: lasts ? Number.POSITIVE_INFINITY : 1 }
    this.#removeFault = this.sandbox.faults.add(kills ? { ...rule, onDrop: () => this.#process.kill() } : rule)
  }

  /** Calls the job, and advances the time until the job ends, is killed or is stopped. */
  async call(job: (world: FaultTestWorld<undefined>) => Promise<unknown>, accessToken: string): Promise<Ending> {
    const { clock, sandbox, durable, counts } = this
    const owner = this.#process
    const { maxRequests, client, signal } = this.#options
    const { url: baseUrl, fetch } = sandbox
    const workspace = new SupportWorkspace({ ...client, baseUrl, accessToken, actor: 'self', fetch })
    const [state, storage] = [durable.stateFor(owner), durable.storageFor(owner)]
    let ending: Ending | undefined
    scopes.run({ clock, owner }, async () => {
      try {
        ending = { kind: 'resolved', value: await job({ workspace, sandbox, state, storage, context: undefined }) }
      } catch (error) {
        ending = { kind: 'rejected', error }
      }
    })
    const lastRequest = counts.requests + maxRequests
    const isOver = () =>
      ending !== undefined || owner.isEnded || counts.requests > lastRequest || signal?.aborted === true
    const why = await clock.drive(isOver, day)
    if (signal?.aborted) owner.kill()
    throwIfAborted(signal)
    if (owner.isEnded) {
      this.#process = new JobProcess(this.uncaught)
      return { kind: 'killed' }
    }
    if (ending !== undefined) return ending
    owner.kill()
    return { kind: 'stopped', why: why ?? `${maxRequests} requests` }
  }

  /** Advances the time by `delay` milliseconds. Returns the reason if real input or output takes too long. */
  async pause(delay: number): Promise<string | undefined> {
    const { clock } = this
    const end = clock.now + delay
    const why = await clock.drive(() => this.#options.signal?.aborted === true, delay, 0)
    clock.now = Math.max(clock.now, end)
    return clock.activity.underWay().length > 0 ? why : undefined
  }

  /** Gives late effects and pending work of the job time to end, like `pause`. Then ends the process and the fault. */
  async finish(longest: number): Promise<string | undefined> {
    const why = await this.pause(longest)
    this.#process.kill()
    this.#removeFault?.()
    return why
  }

  #fetchOf(real: Sandbox): Sandbox['fetch'] {
    const { clock } = this
    return (input, init) => {
      const scope = scopes.getStore()
      // Requests of `setup` and `check` are not counted.
      if (scope?.clock !== clock) return real.fetch(input, init)
      return scope.owner.whileAlive(() => {
        this.#count('requests')
        const number = this.counts.requests
        const { method = 'GET', url } = input instanceof Request ? input : { method: init?.method, url: String(input) }
        const respond = this.record.lastLook.send(method, new URL(url))
        const responding = scopes.run({ clock, owner: this.#service }, () => real.fetch(input, init))
        responding.then(
          ({ status }) => respond(status),
          () => respond(undefined),
        )
        return responding.finally(() => this.record.changeAfter(number, new URL(url).pathname))
      })
    }
  }

  /** Counts a request or an assignment, and kills the process if the fault says so. */
  #count(kind: 'requests' | 'assignments'): void {
    this.counts[kind] += 1
    const injected = this.#injected
    if (injected?.at !== this.counts[kind] || `${placeOf(injected.fault)}s` !== kind) return
    this.record.meetFault()
    if (kind === 'assignments') this.#process.kill()
  }
}
