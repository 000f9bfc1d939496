import type { FaultList } from './faults/fault-list.ts'
import type { LogEntry, RequestLog } from './request-log.ts'
import type { Service } from './service.ts'

/** How a connection is cut: before or in the headers of the response, or after half of this body. */
export type Drop =
  | { at: 'before-headers' | 'mid-headers' }
  | { at: 'mid-body'; response: Response; body: Uint8Array<ArrayBuffer> }

/** Types of the Hono app: what the transport gives it, and what its middleware adds to a request. */
export interface AppEnv {
  Bindings: {
    /** Cuts the connection. Returns what the transport sends instead of a response, or throws the error that a client sees. */
    drop: (drop: Drop) => Response
  }
  Variables: {
    /** The request's entry in the log. */
    entry: LogEntry
    /** Set by a fault that drops the connection. */
    drop: Drop
  }
}

/** The addresses that a sandbox is reached at. They come from its socket and its options, never from a request. */
export interface Addresses {
  /** Base URL, without a trailing slash. */
  readonly url: string
  /** Base URLs of every own host, with the port that the sandbox listens on. */
  readonly origins: readonly string[]
  /** Returns whether the name or address of a host is the sandbox's own. */
  isOwnHost(hostname: string): boolean
  /** Returns whether an `Origin` header is that of the sandbox's own pages. */
  isOwnOrigin(origin: string): boolean
}

/** What `createConsole(context): Hono` gets. Its app is mounted at `/`, behind the check of the host. */
export interface ConsoleContext {
  readonly service: Service
  readonly faults: FaultList
  readonly log: RequestLog
  /** Sends a request to the service in process, as an app would. */
  readonly fetch: (request: Request) => Promise<Response>
  readonly addresses: Addresses
}
