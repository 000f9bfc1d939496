import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Sandbox } from '../../sandbox/index.ts'
import { faults, type InjectedFault } from '../faults.ts'
import { createRunSandbox } from '../job-sandbox.ts'
import { type RunPlan, RunRecord } from '../run.ts'
import type { SharedNumbers } from './clock-file.ts'

/** The options of a `SandboxHttpServer`. */
interface SandboxHttpServerParts {
  readonly plan: RunPlan & { readonly isReal: boolean }
  readonly injected: InjectedFault | undefined
  readonly numbers: SharedNumbers
  /** Kills the program. */
  kill(): Promise<void>
}

/** Headers that belong to the connection between the program and this server, so the sandbox does not get them. */
const ofConnection = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect', 'keep-alive'])

/** An HTTP server with a sandbox that injects the fault of a run. */
export class SandboxHttpServer {
  readonly sandbox: Sandbox
  requests = 0
  readonly record: RunRecord
  readonly #parts: SandboxHttpServerParts
  readonly #server = createServer((incoming, outgoing) => void this.#respond(incoming, outgoing))
  readonly #counts = new Map<string, number>()
  #late: { readonly at: number; send(): Promise<unknown> } | undefined
  #lateTime: number | undefined
  #stalled = 0

  constructor(parts: SandboxHttpServerParts) {
    this.#parts = parts
    const { plan, injected, numbers } = parts
    this.sandbox = createRunSandbox(plan, () => this.#lateTime ?? numbers.now)
    this.record = new RunRecord(this.sandbox, plan, injected, () => numbers.now)
  }

  /** Starts the server and returns its base URL. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const { port } = this.#server.address() as AddressInfo
    this.#parts.numbers.set('port', port)
    return `http://127.0.0.1:${port}`
  }

  /**
   * Applies a late effect if its time has come. Runs before each request, because only requests can notice the effect.
   */
  async applyLate(): Promise<void> {
    const late = this.#late
    if (late === undefined || late.at > this.#parts.numbers.now) return
    this.#late = undefined
    this.#lateTime = late.at
    await late.send()
    this.#lateTime = undefined
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await this.sandbox.close()
  }

  async #respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = incoming
    const path = url.replace(/\?.*/, '')
    const number = this.#numberOf(method, path)
    const { injected } = this.#parts
    const due = injected?.at === number && injected && !faults[injected.fault].isBefore ? injected : undefined
    const respond = this.record.lastLook.send(method, new URL(url, this.sandbox.url))
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
      await this.applyLate()
      if (due !== undefined) this.#inject(due, { method, path }, incoming, send)
      const response = await send()
      status = response.status
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      for await (const chunk of response.body ?? []) outgoing.write(chunk)
      outgoing.end()
    } catch {
      if (due !== undefined && faults[due.fault].kills) await this.#parts.kill()
      // Closes the connection after the bytes that were already written have been sent.
      incoming.socket.destroySoon()
    } finally {
      respond(status)
      if (number !== undefined) this.record.changeAfter(number, path)
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
    const numbers = this.#parts.plan.cleanRequests.flatMap((each, index) =>
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
    const { numbers, plan } = this.#parts
    const { fault, lasts } = faults[injected.fault]
    this.record.meetFault()
    if (fault === undefined) return
    const { lateEffect, ...rest } = fault
    const retryAfter = plan.isReal && fault.retryAfter !== undefined ? { retryAfter: 1 } : {}
    const which = lasts ? { times: Number.POSITIVE_INFINITY } : request
    this.sandbox.faults.add({ ...rest, ...retryAfter, ...which })
    if (lateEffect !== undefined) this.#late = { at: numbers.now + (plan.isReal ? 1_000 : lateEffect), send }
    if (fault.stall) numbers.set('stalled', socket.remotePort ?? 0, this.#stalled++ % 8)
  }
}
