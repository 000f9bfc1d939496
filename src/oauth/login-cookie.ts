import { InvalidArgumentError } from '../errors/index.ts'
import { sha256 } from '../shared/bytes.ts'
import type { OAuthApp } from './oauth-app.ts'

/**
 * The maximum size of the cookie's name and value, in bytes. Browsers may reject more than 4,096 (RFC 6265, section
 * 6.1).
 */
const maxSize = 3_500

/** The cookie of the login in progress in a browser. A new login replaces it. */
export interface LoginCookie {
  /** Returns the `Set-Cookie` value that sets the cookie. `lifetime` is in milliseconds. */
  set(value: string, lifetime: number): string
  /** The `Set-Cookie` value that removes the cookie. */
  readonly clear: string
  /** Returns the value in a `Cookie` header. */
  read(header: string | null): string | undefined
  /** Whether a browser accepts the cookie with this value. */
  fits(value: string): boolean
}

/**
 * Returns a function that returns the cookie of an app's logins: HttpOnly, and SameSite=Lax, so that the browser sends
 * it when the service redirects it back.
 *
 * Over https the cookie is Secure and has the `__Host-` prefix, so that no other host, including subdomains, can set it.
 * The prefix requires `Path=/`. Over http (loopback) neither is possible. The name has a hash of the client id and the
 * redirect URI, so that two apps on one host have separate cookies.
 *
 * @throws InvalidArgumentError when the app has the redirect URI of a native app, or the name is invalid
 */
export function loginCookie({ clientId, redirectUri }: OAuthApp, cookieName: string): () => Promise<LoginCookie> {
  const { protocol } = new URL(redirectUri)
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new InvalidArgumentError(
      'app',
      'Login handlers require an http(s) redirect URI.',
      'Create the app with the https URL of your callback.',
    )
  }
  if (typeof cookieName !== 'string' || !/^[\w-]{1,64}$/.test(cookieName)) {
    throw new InvalidArgumentError(
      'cookieName',
      '`cookieName` must be a valid cookie name.',
      'Use at most 64 letters, digits, `_` and `-`.',
    )
  }
  const secure = protocol === 'https:'
  const attributes = `Path=/; ${secure ? 'Secure; ' : ''}HttpOnly; SameSite=Lax`
  // Hashed at the first request, because Cloudflare Workers refuse it while a module is loaded.
  return async () => {
    const hash = (await sha256(JSON.stringify([clientId, redirectUri]))).slice(0, 16)
    const name = `${secure ? '__Host-' : ''}${cookieName}.${hash}`
    return {
      set: (value, lifetime) => `${name}=${value}; Max-Age=${Math.ceil(lifetime / 1000)}; ${attributes}`,
      clear: `${name}=; Max-Age=0; ${attributes}`,
      read: (header) =>
        header
          ?.split(';')
          .map((pair) => pair.trim())
          .find((pair) => pair.startsWith(`${name}=`))
          ?.slice(name.length + 1),
      fits: (value) => name.length + 1 + value.length <= maxSize,
    }
  }
}
