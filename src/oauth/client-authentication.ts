import { type ClientAuth, ClientSecretPost } from 'oauth4webapi'
import { InvalidArgumentError } from '../errors/index.ts'
import { formEncode } from './untrusted-text.ts'

/** How the app proves itself to the token endpoint (RFC 6749, section 2.3.1). */
export type ClientAuthentication = 'client_secret_post' | 'client_secret_basic'

/** The chosen way, and every form of the secret that it puts on the wire. */
export interface ClientCredentials {
  readonly authenticate: ClientAuth
  readonly secrets: readonly string[]
}

export function clientCredentials(
  method: ClientAuthentication,
  clientId: string,
  clientSecret: string,
): ClientCredentials {
  if (method === 'client_secret_post') {
    return { authenticate: ClientSecretPost(clientSecret), secrets: [clientSecret] }
  }
  if (method === 'client_secret_basic') {
    // The form encoding that RFC 6749 asks for, but not the library's, which encodes even `_` and `-`: a service that
    // forgets to decode would then see another client id.
    const credentials = btoa(`${formEncode(clientId)}:${formEncode(clientSecret)}`)
    return {
      authenticate: (_server, _client, _body, headers) => headers.set('authorization', `Basic ${credentials}`),
      secrets: [clientSecret, credentials],
    }
  }
  throw new InvalidArgumentError(
    'clientAuthentication',
    '`clientAuthentication` is not a known method.',
    'Pass "client_secret_post" (the default) or "client_secret_basic".',
  )
}
