import { InvalidArgumentError } from './errors/index.ts'
import type { CallOptions } from './http/options.ts'
import { callOptionNames, checkHeaders } from './http/settings.ts'

/** The options of a list call. Timeouts and retries apply to each page. Read when the list is called. */
export interface ListOptions extends CallOptions {
  /**
   * The direction of paging: `forward` follows `after`, `backward` follows `before`. The cursor in the query is where to
   * start, in either direction.
   *
   * @default 'backward' if the query has `before`, otherwise 'forward'
   */
  readonly direction?: 'forward' | 'backward' | undefined
  /**
   * Maximum number of items in total.
   *
   * @default no maximum
   */
  readonly maxItems?: number | undefined
  /**
   * Whether to fetch the next page while you process the current one, starting with the second page. If prefetching a
   * page fails, it is fetched again when the loop reaches it.
   *
   * @default true
   */
  readonly prefetch?: boolean | undefined
}

/** The names of all list options. Does not compile when one is missing. */
export const listOptionNames = /* @__PURE__ */ Object.keys({
  ...callOptionNames,
  direction: true,
  maxItems: true,
  prefetch: true,
} satisfies Record<keyof ListOptions, true>)

/** Copies the options of a list, which are reused for each page, and checks the ones that only lists have. */
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
