import { isObject, type JsonObject, parseObject } from '../shared/json.ts'

/** Pause between two requests, in milliseconds. */
export const pause = 250
/** How long a request can take with its body, in milliseconds, and the most bytes of a body, as in a client. */
const timeout = 30_000
const mostBytes = 32 * 1024 * 1024

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The body if it is a JSON object. */
  readonly body: JsonObject | undefined
  /** `data` of a successful response, as a list. */
  readonly items: readonly JsonObject[] | undefined
  /** `data` of a successful response, as an object. */
  readonly item: JsonObject | undefined
  /** The cursor of the next page. */
  readonly after: string | undefined
}

/** Thrown when the probe must not go on. The message is a reason without any text of the service. */
export class Stopped extends Error {}

export interface ServiceOptions {
  readonly baseUrl: string
  readonly accessToken: string
  readonly signal: AbortSignal
}

/** Requests a path below `/api/oauth/v1`. */
export type Get = (path: string, query?: Record<string, string>, headers?: Record<string, string>) => Promise<Answer>

/** Returns a function that sends GET requests one after the other, and stops at the first 429 or 5xx. */
export function openService({ baseUrl, accessToken, signal }: ServiceOptions) {
  const answers: Answer[] = []
  const get: Get = async (path, query = {}, headers = {}) => {
    if (answers.length > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    signal.throwIfAborted()
    const text = new URLSearchParams(query).toString()
    const init: RequestInit = {
      headers: { accept: 'application/json', authorization: `Bearer ${accessToken}`, ...headers },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
      redirect: 'manual',
    }
    const answer = await fetch(`${baseUrl}/api/oauth/v1${path}${text && `?${text}`}`, init)
      .then(answerOf)
      .catch(() => {
        signal.throwIfAborted()
        throw new Stopped(`A request got no answer within ${timeout / 1000} s, or one that is too long.`)
      })
    answers.push(answer)
    if (answer.status === 429 || answer.status >= 500) throw new Stopped(`It stopped at a ${answer.status}.`)
    return answer
  }
  return { get, answers }
}

async function answerOf({ status, headers, body: stream }: Response): Promise<Answer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream ?? []) {
    bytes += chunk.byteLength
    // Leaving the loop releases the connection.
    if (bytes > mostBytes) throw new Error('The body is too long.')
    chunks.push(chunk)
  }
  const body = parseObject(Buffer.concat(chunks).toString())
  const { data, page_metadata: metadata } = body ?? {}
  const isSuccess = status >= 200 && status < 300
  const after = isObject(metadata) ? metadata.after : undefined
  return {
    status,
    headers,
    body,
    items: isSuccess && Array.isArray(data) && data.every(isObject) ? data : undefined,
    item: isSuccess && isObject(data) ? data : undefined,
    after: typeof after === 'string' && after !== '' ? after : undefined,
  }
}
