import type { Addresses } from './addresses.ts'
import type { Delays, FaultList } from './faults/inject-faults.ts'
import type { RequestLog } from './request-log.ts'
import type { Service } from './service.ts'

/** What a sandbox is made of. */
export interface AppParts {
  readonly service: Service
  readonly faults: FaultList
  readonly log: RequestLog
  readonly delays: Delays
  /** Whether the log also has the bodies, for a console. */
  readonly captureBodies: boolean
}

/** What `createConsole(context): Hono` gets. Its app is mounted at `/`, behind the check of the host. */
export interface ConsoleContext extends Pick<AppParts, 'service' | 'faults' | 'log'> {
  /** Sends a request to the service in process, as an app would. */
  readonly fetch: (request: Request) => Promise<Response>
  readonly addresses: Addresses
}
