import { redact } from '../errors/redact.ts'
import { environmentVariable } from '../shared/environment.ts'
import { notify } from '../shared/notify.ts'
import { type Hooks, joinHooks } from './hooks.ts'
import type { Drift, Logger, LogLevel } from './options.ts'

export const logLevels = ['debug', 'info', 'warn', 'error', 'off'] as const satisfies LogLevel[]

/** Returns hooks that call the given hooks and then log. */
export function loggingHooks(hooks: Hooks, log: Log): Hooks {
  const logging: Hooks = {
    onWait(event) {
      log('info', `${event.operation} waits ${event.wait} ms for the rate limit`)
    },
    onRetry(event) {
      log('info', `${event.operation} is retried in ${event.wait} ms after attempt ${event.attempt}: ${event.reason}`)
    },
    onAttemptEnd({ operation, method, urlTemplate, status, error, duration, attempt, requestId }) {
      const path = urlTemplate.replace(/\w+:\/\/[^/]+/, '')
      const details = requestId === undefined ? `attempt ${attempt}` : `attempt ${attempt}, request id ${requestId}`
      const result = status === undefined ? error : error === undefined ? status : `${status} ${error}`
      log('debug', `${method} ${path} ${result} in ${duration} ms (${details})`)
      if (status === 401) log('warn', `${operation}: the service rejected the access token`)
    },
    onOperationEnd({ operation, error, outcome }) {
      if (outcome === 'unknown') log('error', `${operation} failed with ${error}, and may have been applied`)
    },
  }
  return joinHooks(hooks, logging)
}

/** Returns a function that logs a mismatch and then calls the given function. */
export function loggingDrift(onDrift: (drift: Drift) => unknown, log: Log): (drift: Drift) => unknown {
  return (drift) => {
    const { operation, path, expected, received, count } = drift
    log('warn', `${operation}: expected ${expected} in \`${path.join('.')}\`, received ${received} (${count} times)`)
    return onDrift(drift)
  }
}

/** Logs a message if its level is at least the client's log level. */
export type Log = (level: keyof Logger, message: string) => void

/** Returns undefined if the `logger` option and the environment variable are both unset. */
export function createLog(logger: Logger | undefined, level: LogLevel | undefined): Log | undefined {
  const fromEnvironment = readEnvironment()
  const lowest = logLevels.indexOf(level ?? fromEnvironment ?? 'warn')
  const target = logger ?? (fromEnvironment && console)
  if (target === undefined) return undefined
  return (each, message) => {
    if (logLevels.indexOf(each) >= lowest) notify(() => target[each](`support-workspace-sdk: ${redact(message)}`))
  }
}

let lastUnknown: string | undefined

/** Reads the level from `SUPPORT_WORKSPACE_LOG`. Names an unknown level once. */
function readEnvironment(): LogLevel | undefined {
  const level = environmentVariable('SUPPORT_WORKSPACE_LOG')
  const known = logLevels.find((each) => each === level)
  if (level && known === undefined && level !== lastUnknown) {
    lastUnknown = level
    const target: Logger = console
    target.warn(`support-workspace-sdk: SUPPORT_WORKSPACE_LOG must be one of ${logLevels.join(', ')}.`)
  }
  return known
}
