import type { Addresses } from './addresses.ts'
import type { Grant } from './data/grants.ts'
import type { Delays, FaultList } from './faults/inject-faults.ts'
import type { LogEntry, RequestLog } from './request-log.ts'
import type { Service } from './service.ts'

/** Types of the Hono app: what it reports to the transport, and what its middleware adds to a request. */
export interface AppEnv {
  Bindings: {
    /** Set by the app if a fault cuts the connection while the response is sent. */
    drop?: Drop
    /** Returns whether an `Origin` header is that of the sandbox's own pages. */
    isOwnOrigin: (origin: string) => boolean
  }
  Variables: {
    /** The request's entry in the log. */
    entry: LogEntry
    /** What the valid token of the request grants. */
    grant: Grant | undefined
    body: RequestBody
  }
}

/** Where a connection is cut: before the response, or after half of its headers or of its body. */
export type Drop = 'before-headers' | 'mid-headers' | 'mid-body'

/** The body of a request. */
export interface RequestBody {
  /** Media type in lower case, without its parameters. */
  readonly type: string
  readonly text: string
  /** Parsed JSON, a form as an object, or other content as text. `undefined` for an empty body. */
  readonly value: unknown
  /** Why the text is not the JSON of an operation. */
  readonly problem?: 'malformed' | 'too deep'
}

/** What the service is made of. */
export interface AppParts {
  readonly service: Service
  readonly faults: FaultList
  readonly log: RequestLog
  readonly delays: Delays
  /** Whether the log also has the bodies, for a console. */
  readonly captureBodies: boolean
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
