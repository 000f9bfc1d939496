import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { faults, type InjectedFault } from '../faults.ts'
import { type RunPlan, RunSandbox } from '../run.ts'
import type { SharedNumbers } from './clock-file.ts'
import type { ProcessGroup } from './process-group.ts'
import type { ProgramOptions } from './program-options.ts'

/** The program and the options that all runs share. */
export interface ProgramPlan extends RunPlan, Omit<ProgramOptions, keyof RunPlan | 'only'> {
  readonly command: readonly string[]
}

/** Headers that belong to the connection between the program and this server, so the sandbox does not get them. */
const ofConnection = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect', 'keep-alive'])

/** A fresh sandbox behind an HTTP server, with a fault that meets the program. */
export class ProgramSandbox extends RunSandbox<ProgramPlan> {
  requests = 0
  /** The processes of the program, since it was started. */
  group: ProcessGroup | undefined
  /** Whether the fault has killed these processes. */
  isKilled = false
  readonly #numbers: SharedNumbers
  readonly #server = createServer((incoming, outgoing) => void this.#respond(incoming, outgoing))
  readonly #counts = new Map<string, number>()
  #late: { readonly at: number; send(): Promise<unknown> } | undefined
  #stalled = 0

  constructor(plan: ProgramPlan, injected: InjectedFault | undefined, numbers: SharedNumbers) {
    super(plan, injected, numbers)
    this.#numbers = numbers
  }

  /** Starts the server and returns its base URL. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const { port } = this.#server.address() as AddressInfo
    this.#numbers.set('port', port)
    return `http://127.0.0.1:${port}`
  }

  protected override async pause(delay: number): Promise<undefined> {
    this.#numbers.passTo(this.#numbers.now + delay)
    await this.#applyLate()
  }

  /** Applies a late effect if its time has come. Runs before each request, because only requests can notice it. */
  async #applyLate(): Promise<void> {
    const late = this.#late
    if (late === undefined || late.at > this.#numbers.now) return
    this.#late = undefined
    this.timeOfEffect = late.at
    await late.send()
    this.timeOfEffect = undefined
  }

  /** Kills the program and closes the server. */
  async close(): Promise<void> {
    await this.group?.kill()
    this.#server.close()
    this.#server.closeAllConnections()
    await this.sandbox.close()
  }

  async #respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = incoming
    const path = url.replace(/\?.*/, '')
    const number = this.#numberOf(method, path)
    const { injected } = this
    const due = injected?.at === number && injected && !faults[injected.fault].isBefore ? injected : undefined
    const respond = this.lastLook.send(method, new URL(url, this.sandbox.url))
    let status: number | undefined
    try {
      const body = await buffer(incoming)
      const sent = {
        method,
        headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
          ofConnection.has(name) ? [] : [[name, String(value)]],
        ),
        ...(body.length > 0 && { body: body as Uint8Array<ArrayBuffer> }),
      }
      const send = (): Promise<Response> => this.sandbox.fetch(this.sandbox.url + url, sent)
      this.requests += 1
      await this.#applyLate()
      if (due !== undefined) this.#inject(due, { method, path }, incoming, send)
      const response = await send()
      status = response.status
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      for await (const chunk of response.body ?? []) outgoing.write(chunk)
      outgoing.end()
    } catch {
      if (due !== undefined && faults[due.fault].kills) {
        this.isKilled = true
        await this.group?.kill()
      }
      // Closes the connection after the bytes that were already written have been sent.
      incoming.socket.destroySoon()
    } finally {
      respond(status)
      if (number !== undefined) this.changeAfter(number, path)
    }
  }

  /**
   * Returns the number that a request has in the run without faults. Several requests can be in flight, so their order
   * can differ between runs. The request is therefore recognized by its method, its path and its number among requests
   * with both.
   */
  #numberOf(method: string, path: string): number | undefined {
    const count = this.#counts.get(`${method} ${path}`) ?? 0
    this.#counts.set(`${method} ${path}`, count + 1)
    const numbers = this.plan.cleanRequests.flatMap((each, index) =>
      each.method === method && each.path === path ? index + 1 : [],
    )
    return numbers[count]
  }

  #inject(
    injected: InjectedFault,
    request: { readonly method: string; readonly path: string },
    { socket }: IncomingMessage,
    send: () => Promise<unknown>,
  ): void {
    const { fault, lasts } = faults[injected.fault]
    this.meetFault()
    if (fault === undefined) return
    const { lateEffect, ...rest } = fault
    const which = lasts ? { times: Number.POSITIVE_INFINITY } : request
    this.sandbox.faults.add({ ...rest, ...which })
    if (lateEffect !== undefined) this.#late = { at: this.#numbers.now + lateEffect, send }
    if (fault.stall) this.#numbers.set('stalled', socket.remotePort ?? 0, this.#stalled++ % 8)
  }
}
