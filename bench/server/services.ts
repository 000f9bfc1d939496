import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { PeerName } from '../contestants.ts'

/** What the services respond. */
export interface Plan {
  /** Number of pages in a list. */
  readonly pages: number
  /** Time before a response, in milliseconds. */
  readonly latency: number
}

export type Command = Plan | 'count'
export type Reply = { readonly ports: Partial<Record<PeerName, number>> } | { readonly requests: number }

/** The local services, which run in a separate process. */
export interface Services {
  /** Changes the plan and starts counting requests from zero. */
  use(plan: Plan): Promise<void>
  /** Returns the number of requests since `use`. */
  requests(): Promise<number>
  /** Returns the origin of a service, for example `http://127.0.0.1:40001`. */
  originOf(name: PeerName): string
  stop(): void
}

export async function startServices(names: readonly PeerName[]): Promise<Services> {
  const child = fork(fileURLToPath(new URL('main.ts', import.meta.url)), names)
  const exited = once(child, 'exit').then(([code]) => Promise.reject(new Error(`The services stopped (${code}).`)))
  exited.catch(() => {})

  async function ask(command?: Command): Promise<Reply> {
    const replied = once(child, 'message')
    if (command !== undefined) child.send(command)
    const [reply] = await Promise.race([replied, exited])
    return reply
  }

  const started = await ask()
  const ports = 'ports' in started ? started.ports : {}
  return {
    use: async (plan) => void (await ask(plan)),
    requests: async () => {
      const reply = await ask('count')
      return 'requests' in reply ? reply.requests : Number.NaN
    },
    originOf: (name) => `http://127.0.0.1:${ports[name]}`,
    stop: () => child.disconnect(),
  }
}
