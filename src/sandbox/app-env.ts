import type { Handler } from 'hono'
import type { Grant } from './data/grants.ts'
import type { Scope } from './data/scope-catalog.ts'
import type { RequestBody } from './http.ts'
import type { LogEntry } from './request-log.ts'
import type { SandboxData } from './sandbox-data.ts'

/** Types of the Hono app: what it reports to the transport, and what its middleware adds to a request. */
export interface AppEnv {
  Bindings: {
    /** Set by the app if a fault cuts the connection while the response is sent. */
    drop?: Drop
    /** Returns whether an `Origin` header names the sandbox itself. Its pages send this origin. */
    isOwnOrigin: (origin: string) => boolean
  }
  Variables: {
    entry: LogEntry
    /** What the valid token of the request grants. */
    grant: Grant | undefined
    body: RequestBody
  }
}

/** Where a connection is cut: before it is open, before the response, or after half of its headers or of its body. */
export type Drop = 'refused' | 'before-headers' | 'mid-headers' | 'mid-body'

/** A method and a path of the service, and the function that handles them. */
export interface Operation {
  /** Method and path, with `:name` for each parameter. */
  readonly route: Route
  readonly scope?: Scope | undefined
  readonly handler: (sandbox: SandboxData) => Handler<AppEnv>
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type Route = `${Method} /${string}`
