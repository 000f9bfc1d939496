import { type ClientAuth, ClientSecretPost } from 'oauth4webapi'

/** How the app authenticates to the token endpoint (RFC 6749, section 2.3.1). */
export type ClientAuthentication = 'client_secret_post' | 'client_secret_basic'

/** The credentials of the app. */
export interface ClientCredentials {
  /** Adds the credentials to a token request. */
  readonly authenticate: ClientAuth
  /** Every form of the secret that is sent. */
  readonly secrets: readonly string[]
}

export function clientCredentials(method: ClientAuthentication, clientId: string, secret: string): ClientCredentials {
  if (method === 'client_secret_post') return { authenticate: ClientSecretPost(secret), secrets: [secret] }
  const credentials = btoa(`${formEncode(clientId)}:${formEncode(secret)}`)
  return {
    authenticate: (_server, _client, _form, headers) => headers.set('authorization', `Basic ${credentials}`),
    secrets: [secret, credentials],
  }
}

/** Encodes text as RFC 6749 requires. Common ids stay unchanged, because some services do not decode them. */
function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}
