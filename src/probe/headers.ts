import type { Answer } from './asker.ts'
import type { Questions } from './questions.ts'

const rateLimitHeaders = [
  'ratelimit',
  'ratelimit-policy',
  ...['limit', 'remaining', 'reset'].flatMap((part) => [
    `ratelimit-${part}`,
    `x-ratelimit-${part}`,
    `x-rate-limit-${part}`,
  ]),
  'retry-after',
]
const requestIdHeaders = ['x-request-id', 'request-id', 'x-correlation-id', 'x-trace-id', 'traceparent']

/** A page that no service knows (RFC 6761, section 6.4). */
const origin = 'https://probe.invalid'

/** Asks how the service handles headers: it repeats a GET with an ETag and with an `Origin`. */
export async function askHeaders(questions: Questions): Promise<void> {
  const { find, leave } = questions
  const get = (headers?: Record<string, string>) =>
    questions.ask('organization.get', '/organization', headers === undefined ? {} : { headers })
  const plain = await get()
  if (plain.status !== 200 || plain.item === undefined) {
    for (const trait of ['headers.etag', 'cors.get'] as const) {
      leave(trait, 'It takes a token that can read the organization (organization:read).')
    }
    return
  }
  const again = await get()
  const etag = plain.header('etag')
  if (etag === null) find('headers.etag', 'none')
  else if (again.header('etag') !== etag) leave('headers.etag', 'It takes a response that has the same ETag twice.')
  else {
    const { status } = await get({ 'if-none-match': etag })
    if (status === 304) find('headers.etag', 'answers 304')
    else if (status === 200) find('headers.etag', 'ignores If-None-Match')
  }
  const { status, header } = await get({ origin })
  if (status === 200) find('cors.get', originIn(header('access-control-allow-origin')))
  else leave('cors.get', 'It takes a service that answers a GET with `Origin` like one without.')
}

function originIn(allowed: string | null): string {
  if (allowed === null) return 'none'
  if (allowed === '*') return 'any origin'
  return allowed === origin ? 'the origin that was sent' : 'another origin'
}

/** Notes which headers of a fixed list the successful answers had. */
export function findHeaders({ find }: Questions, answers: readonly Answer[]): void {
  const successes = answers.filter(({ status }) => status === 200)
  const sent = (names: readonly string[]) =>
    names.filter((name) => successes.some(({ header }) => header(name) !== null)).join(', ') || 'none'
  find('headers.rateLimit', sent(rateLimitHeaders))
  find('headers.requestId', sent(requestIdHeaders))
  find('headers.date', sent(['date']))
}
