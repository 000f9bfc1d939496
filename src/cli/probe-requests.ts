import { isObject, type JsonObject, parseObject } from '../shared/json.ts'

/** The most requests of one probe, and the pause between two of them in milliseconds. */
export const mostRequests = 45
export const pause = 250
/** How long a request can take with its body, in milliseconds, and the most bytes of a body: as a client's defaults. */
const timeout = 30_000
const mostBytes = 32 * 1024 * 1024

export interface Answer {
  readonly status: number
  /** The body if it is a JSON object. */
  readonly body: JsonObject | undefined
  /** `data` of the body, as a list. Undefined for an error, or if `data` is missing. */
  readonly items: readonly JsonObject[] | undefined
  /** `data` of the body, as an object. */
  readonly item: JsonObject | undefined
  /** The cursor of the next page, or undefined. */
  readonly after: string | undefined
  readonly before: string | undefined
  readonly isPage: boolean
  readonly headers: Headers
}

/** Thrown when the probe must not go on. The message is a reason without any text of the service. */
export class Stopped extends Error {}

export interface RequestOptions {
  readonly baseUrl: string
  readonly accessToken: string
  readonly signal: AbortSignal
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly wait: (milliseconds: number) => Promise<unknown>
}

export type Get = (
  path: string,
  query?: Readonly<Record<string, string>>,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>

/** Sends the GET requests of a probe, one after the other. Stops at the first 429 or 5xx. */
export class Requests {
  readonly #options: RequestOptions
  readonly answers: Answer[] = []
  count = 0

  constructor(options: RequestOptions) {
    this.#options = options
  }

  /** Requests a path below `/api/oauth/v1`. */
  readonly get: Get = async (path, query = {}, headers = {}) => {
    const { baseUrl, accessToken, signal, wait } = this.#options
    if (this.count === mostRequests) throw new Stopped(`The probe sends at most ${mostRequests} requests.`)
    if (this.count > 0) await wait(pause)
    signal.throwIfAborted()
    this.count += 1
    const text = new URLSearchParams(query).toString()
    const answer = await this.#send(`${baseUrl}/api/oauth/v1${path}${text && `?${text}`}`, {
      headers: { accept: 'application/json', authorization: `Bearer ${accessToken}`, ...headers },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
      redirect: 'manual',
    })
    if (answer.status === 429 || answer.status >= 500) throw new Stopped(`It stopped at a ${answer.status}.`)
    this.answers.push(answer)
    return answer
  }

  async #send(url: string, init: RequestInit): Promise<Answer> {
    try {
      const response = await this.#options.fetch(url, init)
      return answerOf(response, await textOf(response))
    } catch {
      this.#options.signal.throwIfAborted()
      throw new Stopped(`A request got no answer within ${timeout / 1000} s, or one that is too long.`)
    }
  }
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength
    // Ending the loop releases the connection.
    if (bytes > mostBytes) throw new Error('The body is too long.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function answerOf({ status, headers }: Response, text: string): Answer {
  const body = parseObject(text)
  const { data, page_metadata: metadata } = body ?? {}
  const isSuccess = status >= 200 && status < 300
  const cursor = (name: 'after' | 'before') => {
    const value = isObject(metadata) ? metadata[name] : undefined
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  return {
    status,
    body,
    items: isSuccess && Array.isArray(data) && data.every(isObject) ? data : undefined,
    item: isSuccess && isObject(data) ? data : undefined,
    after: cursor('after'),
    before: cursor('before'),
    isPage: isObject(metadata),
    headers,
  }
}
