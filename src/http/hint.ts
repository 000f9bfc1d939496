import type { Outcome } from '../errors/index.ts'
import type { Operation } from '../operation.ts'

/** The next step after a failed call. Where a write may have taken effect, that comes before anything else. */
export function hintFor(operation: Operation, outcome: Outcome, otherwise: string): string {
  return outcome === 'unknown' && operation.method !== 'GET'
    ? 'It may have taken effect all the same: look before you send it again.'
    : otherwise
}
