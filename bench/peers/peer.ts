/**
 * An SDK to measure, with the local service that it talks to. Its file imports the SDK as a type only, so that the
 * server can load the file without the SDK, and so that `import` and `require` can both be timed.
 */
export interface Peer<Sdk = unknown> {
  /** The npm package. */
  readonly package: string
  /** Whether the package can be loaded with `require`. */
  readonly hasCommonJs: boolean
  /** The main client, as an application imports it. */
  readonly mainImport: string
  /** Other ways to set the client up, in addition to the default. */
  readonly variants?: readonly string[]
  readonly service: Service
  /** Creates a client with the defaults of the SDK, for the service at `origin`. */
  connect(sdk: Sdk, origin: string, variant?: string): Client
}

/** The calls to measure. */
export interface Client {
  /** Fetches the first page and returns its items. */
  list(limit: number): Promise<readonly unknown[]>
  /** Iterates over all items, or over all pages if the SDK has no iterator of items. */
  readonly items?: (limit: number) => Boxed<AsyncIterable<unknown>> | Promise<Boxed<AsyncIterable<unknown>>>
  readonly pages?: (limit: number) => AsyncIterable<readonly unknown[]>
  /** Creates an object and returns its id. */
  create(): Promise<string | undefined>
}

/** In an array, because many iterables are also promises of the first page, which an `await` would fetch. */
type Boxed<Value> = readonly [Value]

/** A service that responds in the shape that the SDK expects. */
export interface Service {
  /** Returns what a request asks for, or undefined if the SDK should not have sent it. */
  readonly read: (request: ServiceRequest) => ListRequest | 'create' | undefined
  /** Returns the body of a page. `items` is the JSON text of its items, and `cursor` the cursor of the next page. */
  readonly page: (items: string, cursor: string | null) => string
  /** Returns additional headers of a page. */
  readonly headers?: (cursor: string | null, url: URL) => Record<string, string>
  /** Body of the response to a create request, with `createdId` as the id. */
  readonly created: object
}

export interface ServiceRequest {
  readonly method: string
  readonly url: URL
  readonly body: string
}

export interface ListRequest {
  readonly limit: number
  /** Null on the first page. */
  readonly cursor: string | null
}

/** The id of the object that every service creates. */
export const createdId = 'created_1'

/** Text of the messages and other objects that are created. */
export const sampleText = 'We have found the cause and will refund the second invoice today.'

/** Reads the requests of a REST service. */
export function restRequests(paths: {
  readonly list: string
  readonly create: string
  /** Names of the query parameters. */
  readonly limit: string
  readonly cursor: string
}): Service['read'] {
  return ({ method, url }) => {
    if (method === 'POST' && url.pathname === paths.create) return 'create'
    if (method !== 'GET' || url.pathname !== paths.list) return undefined
    return { limit: Number(url.searchParams.get(paths.limit)), cursor: url.searchParams.get(paths.cursor) }
  }
}
