import { InvalidArgumentError } from './errors/index.ts'
import type { CallOptions } from './http/options.ts'
import { callOptionNames, checkHeaders } from './http/settings.ts'

/** The options of a list call. Timeouts and retries apply to each page. They are read when the list is called. */
export interface ListOptions extends CallOptions {
  /**
   * Which cursor leads to the next page: `forward` follows `after`, `backward` follows `before`. The query's cursor only
   * says where to start: the first page sends it, whatever the direction. Defaults to `backward` when the query has
   * `before`, otherwise to `forward`.
   */
  readonly direction?: 'forward' | 'backward' | undefined
  /** Maximum number of items in total. Defaults to no maximum. */
  readonly maxItems?: number | undefined
  /**
   * Whether to fetch the next page while you work on this one, from the second page on and never more than one ahead. A
   * page that could not be fetched ahead is fetched again when the loop reaches it. Defaults to true.
   */
  readonly prefetch?: boolean | undefined
}

/** Every option of a list. One that is missing here does not compile. */
export const listOptionNames = Object.keys({
  ...callOptionNames,
  direction: true,
  maxItems: true,
  prefetch: true,
} satisfies Record<keyof ListOptions, true>)

/** Copies the options of a list, which are used again for each page. Checks those that only a list has. */
export function copyListOptions(options: ListOptions = {}): ListOptions {
  const { direction, prefetch, maxItems, headers } = options
  if (direction !== undefined && direction !== 'forward' && direction !== 'backward') {
    throw new InvalidArgumentError(
      'direction',
      '`direction` is not supported.',
      'Pass "forward" or "backward", or leave it out.',
    )
  }
  if (prefetch !== undefined && typeof prefetch !== 'boolean') {
    throw new InvalidArgumentError('prefetch', '`prefetch` must be a boolean.', 'Pass true or false, or leave it out.')
  }
  checkInteger('maxItems', maxItems, 0)
  return { ...options, ...(headers !== undefined && { headers: checkHeaders(headers) }) }
}

/** @throws InvalidArgumentError unless the value is undefined or an integer of at least `least`. */
export function checkInteger(name: string, value: unknown, least: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= least)) return
  throw new InvalidArgumentError(
    name,
    `\`${name}\` must be an integer of at least ${least}.`,
    name === 'limit' ? "Leave it out for the service's default." : 'Leave it out for no limit.',
  )
}
