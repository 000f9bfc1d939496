import { badRequest, Refusal } from '../http/refusal.ts'
import type { Settings } from '../options.ts'
import { parameter } from './parameters.ts'

/** Throws a `Refusal` unless the app proved who it is, by HTTP Basic or in the form but not both (RFC 6749, 2.3.1). */
export function authenticateClient(app: Settings['app'], authorization: string | null, form: URLSearchParams): void {
  const id = parameter(form, 'client_id')
  const secret = parameter(form, 'client_secret')
  if (authorization === null) {
    if (id !== app.clientId || secret !== app.clientSecret) throw invalidClient({})
    return
  }
  if (secret !== undefined) throw badRequest('Authenticate by HTTP Basic or in the form, not by both.')
  const basic = readBasic(authorization)
  if (basic?.id !== app.clientId || basic.secret !== app.clientSecret || (id ?? basic.id) !== basic.id) {
    throw invalidClient({ 'www-authenticate': 'Basic realm="oauth"' })
  }
}

function invalidClient(headers: Record<string, string>): Refusal {
  return new Refusal(401, 'invalid_client', 'The client id or the client secret is wrong.', headers)
}

function readBasic(authorization: string): { id: string; secret: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1]
  if (encoded === undefined) return undefined
  const [id, ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  const secret = rest.join(':')
  try {
    return { id: formDecoded(id ?? ''), secret: formDecoded(secret) }
  } catch {
    return undefined
  }
}

// Id and secret are form-encoded before they are joined (RFC 6749, 2.3.1), where a plus sign is a space.
function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
