import { isObject, type JsonObject, parseObject } from '../shared/json.ts'
import type { WebFetch } from '../shared/web-types.ts'

/** The most requests of one probe, and the pause between two of them in milliseconds. */
export const mostRequests = 40
export const pause = 250
const timeout = 30_000

export interface Answer {
  readonly status: number
  /** The body if it is a JSON object. */
  readonly body: JsonObject | undefined
  /** `data` of the body, as a list. Undefined after an error, or if the body has no list. */
  readonly items: readonly JsonObject[] | undefined
  /** `data` of the body, as an object. */
  readonly item: JsonObject | undefined
  /** The cursors of a page. Undefined if there is no `page_metadata`. */
  readonly cursors: { readonly after: unknown; readonly before: unknown } | undefined
  header(name: string): string | null
}

/** Thrown when the probe must not go on. The message is a reason without any text of the service. */
export class Stopped extends Error {}

export interface AskerOptions {
  readonly baseUrl: URL
  readonly accessToken: string
  readonly fetch: WebFetch
  readonly wait: (milliseconds: number) => Promise<void>
}

interface Question {
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly withoutToken?: boolean
}

/** Sends the requests of a probe, one after the other. Stops for good at the first 429 or 5xx. */
export class Asker {
  readonly #options: AskerOptions
  readonly answers: Answer[] = []
  requests = 0

  constructor(options: AskerOptions) {
    this.#options = options
  }

  /** @param path below `/api/oauth/v1` */
  async get(path: string, { query = {}, headers = {}, withoutToken }: Question = {}): Promise<Answer> {
    if (this.requests === mostRequests) throw new Stopped(`The probe sends at most ${mostRequests} requests.`)
    if (this.requests > 0) await this.#options.wait(pause)
    this.requests += 1
    const { baseUrl, accessToken, fetch } = this.#options
    const text = new URLSearchParams(query).toString()
    const url = `${baseUrl.href.replace(/\/$/, '')}/api/oauth/v1${path}${text && `?${text}`}`
    const authorization = withoutToken ? {} : { authorization: `Bearer ${accessToken}` }
    const answer = await this.#send(() =>
      fetch(url, {
        method: 'GET',
        headers: { accept: 'application/json', ...authorization, ...headers },
        signal: AbortSignal.timeout(timeout),
        redirect: 'manual',
      }),
    )
    if (answer.status === 429 || answer.status >= 500) throw new Stopped(`It stopped at a ${answer.status}.`)
    this.answers.push(answer)
    return answer
  }

  async #send(send: () => ReturnType<WebFetch>): Promise<Answer> {
    try {
      const response = await send()
      return answerOf(response.status, await response.text(), (name) => response.headers.get(name))
    } catch {
      throw new Stopped('A request got no answer.')
    }
  }
}

function answerOf(status: number, text: string, header: Answer['header']): Answer {
  const body = parseObject(text)
  const { data, page_metadata: metadata } = body ?? {}
  const isSuccess = status >= 200 && status < 300
  return {
    status,
    body,
    items: isSuccess && Array.isArray(data) && data.every(isObject) ? data : undefined,
    item: isSuccess && isObject(data) ? data : undefined,
    cursors: isObject(metadata) ? { after: metadata.after, before: metadata.before } : undefined,
    header,
  }
}
