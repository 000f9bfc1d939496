import { InvalidArgumentError } from '../errors/index.ts'
import type { Operation } from '../operation.ts'

/** The body as JSON; undefined when there is none. */
export function encodeBody(operation: Operation, body: unknown): string | undefined {
  if (body === undefined) return undefined
  const text = operation.method === 'GET' ? undefined : toJson(body)
  if (text !== undefined) return text
  throw new InvalidArgumentError(
    'body',
    `The body of ${operation.id} cannot be sent with ${operation.method} as JSON.`,
    'Pass plain data (no cycle, no bigint, no function), and none at all with GET.',
  )
}

function toJson(body: unknown): string | undefined {
  try {
    return JSON.stringify(body)
  } catch {
    return undefined
  }
}
