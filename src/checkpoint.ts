import { checkNames, checkObject } from './check-options.ts'
import { InvalidArgumentError } from './errors/index.ts'

/** A place in a list from which `resumeFrom` continues. Plain JSON. */
export interface Checkpoint {
  /** The cursor to continue after, or null at the start and at the end of the list. Opaque. */
  readonly cursor: string | null
  /** Whether the list is finished: it has no further page in its direction. */
  readonly done: boolean
}

const names = { cursor: true, done: true } satisfies Record<keyof Checkpoint, true>

const nextStep = 'Pass the `checkpoint` of a page unchanged, or leave it out to start from the beginning.'

/**
 * Copies a checkpoint, which the caller may have read from a file or a database.
 *
 * @throws InvalidArgumentError if it is not one that a page had.
 */
export function copyCheckpoint(given: unknown): Checkpoint | null | undefined {
  if (given === undefined || given === null) return given
  if (typeof given === 'string') {
    throw new InvalidArgumentError(
      'resumeFrom',
      '`resumeFrom` must be an object, not a string.',
      'Parse stored JSON with `JSON.parse`, or pass a cursor as `{ cursor, done: false }`.',
    )
  }
  checkObject('resumeFrom', given, nextStep)
  checkNames(given, names, '`resumeFrom`')
  const { cursor, done } = given as { cursor?: unknown; done?: unknown }
  if (typeof done !== 'boolean') throw refused('done', 'must be a boolean')
  if (cursor !== null && (typeof cursor !== 'string' || cursor === '')) {
    throw refused('cursor', 'must be a non-empty string or null')
  }
  if (done && cursor !== null) throw refused('cursor', 'must be null if `done` is true')
  return { cursor, done }
}

function refused(field: keyof Checkpoint, problem: string): InvalidArgumentError {
  return new InvalidArgumentError(`resumeFrom.${field}`, `\`resumeFrom.${field}\` ${problem}.`, nextStep)
}
