import { identityOf, isWhole } from '../client/index.ts'
import { InvalidArgumentError, type SupportWorkspaceError } from '../errors/index.ts'
import { sha256 } from '../shared/bytes.ts'
import { parseObject } from '../shared/json.ts'
import type { FetchInit, FetchResponse, WebFetch } from '../shared/web-types.ts'
import type { Counts } from './feed-options.ts'

/**
 * Sends the requests of a feed. If a token provider returns another token, asks `/me` before the token reads anything,
 * because another token can belong to another organization.
 */
export class VerifiedRequests {
  readonly #fetch: WebFetch
  readonly #counts: Counts
  /** Address of `/me`. */
  #address: string | undefined
  #verified: string | undefined
  /** Whether the last request asked `/me`. */
  isOfMe = false
  /** A digest of the address of the service and the organization. */
  place: string | undefined
  /** Why the token must not read. */
  refusal: SupportWorkspaceError | undefined
  /** The time of the last response, in milliseconds since the Unix epoch, by the clock of the service. */
  time = Date.now()
  /** The id of the person of the token. */
  you: string | undefined

  constructor(fetch: WebFetch, counts: Counts) {
    this.#fetch = fetch
    this.#counts = counts
  }

  async send(url: string, init: FetchInit): Promise<FetchResponse> {
    const { authorization } = init.headers
    if (this.refusal !== undefined) throw this.refusal
    if (authorization === this.#verified) return this.#send(url, init)
    // The first request asks `/me`.
    this.#address ??= url
    const response = await this.#send(this.#address, init)
    if (response.status !== 200) return response
    const text = await response.text()
    const read = { status: 200, headers: response.headers, text: async () => text }
    const me = parseObject(text)
    // The client says what is wrong with the response.
    if (me === undefined) return read
    try {
      const identity = identityOf(me)
      const { organization, author } = identity
      const place = await sha256(JSON.stringify([this.#address, organization]))
      this.place ??= place
      if (this.place !== place) throw otherOrganization()
      this.you = author
      // Without the person, the next request asks again, because its own messages would count as those of others.
      if (isWhole(identity)) this.#verified = authorization
    } catch (thrown) {
      this.refusal = thrown as SupportWorkspaceError
      throw thrown
    }
    return url === this.#address ? read : this.#send(url, init)
  }

  async #send(url: string, init: FetchInit): Promise<FetchResponse> {
    this.#counts.requests += 1
    this.isOfMe = url === this.#address
    const response = await this.#fetch(url, init)
    const time = Date.parse(response.headers.get('date') ?? '')
    this.time = Number.isNaN(time) ? Date.now() : time
    return response
  }
}

/** Returns the error for a token whose organization is not the one of the storage. */
export function otherOrganization(): InvalidArgumentError {
  return new InvalidArgumentError(
    'storage',
    'The feed in this storage reads another organization, or another service.',
    'Pass another `name` or another storage. Otherwise everything would count as deleted.',
  )
}
