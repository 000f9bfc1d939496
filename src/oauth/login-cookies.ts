import { InvalidArgumentError } from '../errors/index.ts'

/** How many logins a browser may have on their way at once; the oldest gives way. Each is a cookie of about 1 kB. */
const mostAtOnce = 5

/** The cookies of logins on their way, one for each, so that two tabs do not collide. */
export interface LoginCookies {
  /** The cookie's name for a login, which its state decides. */
  nameFor(state: string): Promise<string>
  /** A `Set-Cookie` that keeps a value for some ms. */
  set(name: string, value: string, lifetime: number): string
  /** A `Set-Cookie` that removes it. */
  clear(name: string): string
  /** The value in a `Cookie` header. */
  read(header: string | null, name: string): string | undefined
  /** `Set-Cookie`s that make room for one more. */
  makeRoom(header: string | null): string[]
}

/**
 * Cookies for the callback at a redirect URI: HttpOnly, and SameSite=Lax, which lets them come along when the service
 * sends the browser back.
 *
 * Over https they are Secure and named `__Host-`, so that no other host, not even a subdomain, can plant one; the prefix
 * demands `Path=/`. Over http (loopback) neither is possible, and the path is that of the callback.
 */
export function loginCookies(redirectUri: string, cookieName: string): LoginCookies {
  const { protocol, pathname } = new URL(redirectUri)
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new InvalidArgumentError(
      'app',
      'Login handlers need a redirect URI that a browser can call.',
      'Make the app with the https address of your callback.',
    )
  }
  if (typeof cookieName !== 'string' || !/^[\w-]+$/.test(cookieName)) {
    throw new InvalidArgumentError('cookieName', '`cookieName` is not a cookie name.', 'Use letters, digits, _ and -.')
  }
  const secure = protocol === 'https:'
  const prefix = `${secure ? '__Host-' : ''}${cookieName}.`
  const attributes = secure
    ? 'Path=/; Secure; HttpOnly; SameSite=Lax'
    : // A pathname can hold a semicolon, which would begin another attribute.
      `Path=${pathname.replaceAll(';', '%3B')}; HttpOnly; SameSite=Lax`
  const clear = (name: string) => `${name}=; Max-Age=0; ${attributes}`
  return {
    nameFor: async (state) => prefix + (await shortHash(state)),
    set: (name, value, lifetime) => `${name}=${value}; Max-Age=${Math.ceil(lifetime / 1000)}; ${attributes}`,
    clear,
    read: (header, name) => parse(header).find(([candidate]) => candidate === name)?.[1],
    makeRoom(header) {
      // Browsers send the older of two cookies first (RFC 6265, section 5.4).
      const names = parse(header).flatMap(([name]) => (name.startsWith(prefix) ? [name] : []))
      return names.slice(0, Math.max(0, names.length - mostAtOnce + 1)).map(clear)
    },
  }
}

function parse(header: string | null): [name: string, value: string][] {
  return (header ?? '').split(';').map((pair) => {
    const [name = '', ...value] = pair.split('=')
    return [name.trim(), value.join('=').trim()]
  })
}

/** Names the login without telling its state. */
async function shortHash(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return Array.from(hash.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
