import type { Outcome } from '../errors/index.ts'
import type { Operation } from '../operation.ts'

/** The next step after a failed call. Where a write may have taken effect, that comes before anything else. */
export function hintFor(operation: Operation, outcome: Outcome, otherwise: string): string {
  return outcome === 'unknown' && operation.method !== 'GET'
    ? 'The write may have been applied. Check before retrying it.'
    : otherwise
}
