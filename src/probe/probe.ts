import { InvalidArgumentError } from '../errors/index.ts'
import { checkFunction, checkNames, checkObject } from '../shared/check-options.ts'
import { checkAccessToken, parseBaseUrl } from '../shared/credentials.ts'
import type { WebFetch } from '../shared/web-types.ts'
import { askService, type ProbeFindings } from './ask-service.ts'
import { mostRequests, pause } from './asker.ts'
import { largestLimit } from './lists.ts'

/** The options of `probe`. */
export interface ProbeOptions {
  /** Base URL of the service, as for a client. */
  readonly baseUrl: string
  /** Your token. The probe reads what the token can read, and reports names and counts only. */
  readonly accessToken: string
  /** Confirms that the owner of the token agrees to the requests that `announceProbe` describes. */
  readonly confirmed: true
  /** Sends the requests. By default the platform's `fetch`. */
  readonly fetch?: WebFetch | undefined
  /** Allows plain http to other machines. By default it is only allowed to this machine. */
  readonly allowInsecureHttp?: boolean | undefined
  /** @internal */
  readonly wait?: ((milliseconds: number) => Promise<void>) | undefined
}

const names = { baseUrl: 1, accessToken: 1, confirmed: 1, fetch: 1, allowInsecureHttp: 1, wait: 1 }

/** Returns a description of the probe, to show to the person who has to agree to it. */
export function announceProbe(): string {
  return `The probe sends up to ${mostRequests} GET requests with your token, one after the other, ${pause} ms apart, and asks for up to
${largestLimit} entries of a list. One request has no token. Nothing is changed. It stops at the first 429 or 5xx. The file has names,
counts and days, and no text, id or value of your data.`
}

/**
 * Finds out which guesses about the service are right, for example which inferred paths exist, how long pages are, and
 * how the service handles cursors and ETags. Sends up to 40 GET requests, 250 ms apart, and stops at the first 429 or
 * 5xx. The result contains names and counts, but no data of the service.
 *
 * @throws InvalidArgumentError if an option is invalid, or `confirmed` is not true.
 */
export async function probe(options: ProbeOptions): Promise<ProbeFindings> {
  checkObject('options', options, 'Pass `baseUrl`, `accessToken` and `confirmed: true`.')
  checkNames(options, names, '`probe`')
  const { confirmed, allowInsecureHttp = false, fetch, wait = sleep } = options
  const baseUrl = parseBaseUrl(options.baseUrl, allowInsecureHttp)
  const accessToken = checkAccessToken(options.accessToken)
  if (confirmed !== true) {
    const hint = 'Show `announceProbe()` to the owner of the token, and pass `confirmed: true` if they agree.'
    throw new InvalidArgumentError('confirmed', '`confirmed` must be true.', hint)
  }
  const send = fetch === undefined ? platformFetch : checkFunction<WebFetch>('fetch', fetch)
  return askService({ baseUrl, accessToken, fetch: send, wait })
}

const platformFetch: WebFetch = (url, init) => globalThis.fetch(url, init as RequestInit)

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
