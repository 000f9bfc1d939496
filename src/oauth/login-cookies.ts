import { InvalidArgumentError } from '../errors/index.ts'

/** The maximum number of logins under way in one browser. Past it the oldest is dropped. */
const mostAtOnce = 5

/** The maximum size of one cookie, name and value, in bytes. Browsers ignore one above 4,096 (RFC 6265, section 6.1). */
const longestCookie = 3_500

/**
 * The maximum size of all login cookies together, in bytes. Servers and proxies commonly answer 431 when the headers of a
 * request exceed 8 kB, and the app has cookies of its own.
 */
const longestTogether = 6_000

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
  /** Whether a browser keeps a cookie with this value. */
  fits(name: string, value: string): boolean
  /** `Set-Cookie`s that remove the oldest logins, to make room for one more. */
  makeRoom(header: string | null, name: string, value: string): string[]
}

/**
 * Cookies for the callback at a redirect URI: HttpOnly, and SameSite=Lax, which lets them come along when the service
 * sends the browser back.
 *
 * Over https they are Secure and named `__Host-`, so that no other host, not even a subdomain, can plant one. Over http
 * (loopback) neither is possible. `Path=/`, which the prefix demands, lets the start of a login see how many there are.
 */
export function loginCookies(redirectUri: string, cookieName: string): LoginCookies {
  const { protocol } = new URL(redirectUri)
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new InvalidArgumentError(
      'app',
      'Login handlers need an http(s) redirect URI.',
      'Create the app with the https address of your callback.',
    )
  }
  if (typeof cookieName !== 'string' || !/^[\w-]{1,64}$/.test(cookieName)) {
    throw new InvalidArgumentError('cookieName', '`cookieName` must be a cookie name.', 'Use letters, digits, _ and -.')
  }
  const secure = protocol === 'https:'
  const prefix = `${secure ? '__Host-' : ''}${cookieName}.`
  const attributes = `Path=/; ${secure ? 'Secure; ' : ''}HttpOnly; SameSite=Lax`
  const clear = (name: string) => `${name}=; Max-Age=0; ${attributes}`
  return {
    nameFor: async (state) => prefix + (await shortHash(state)),
    set: (name, value, lifetime) => `${name}=${value}; Max-Age=${Math.ceil(lifetime / 1000)}; ${attributes}`,
    clear,
    read: (header, name) => parse(header).find(([candidate]) => candidate === name)?.[1],
    fits: (name, value) => sizeOf([name, value]) <= longestCookie,
    makeRoom(header, name, value) {
      const isLogin = ([name]: Cookie) => name.startsWith(prefix) && /^[0-9a-f]{16}$/.test(name.slice(prefix.length))
      // Browsers send the older of two cookies first (RFC 6265, section 5.4).
      const logins: Cookie[] = [...parse(header).filter(isLogin), [name, value]]
      let together = logins.reduce((sum, cookie) => sum + sizeOf(cookie), 0)
      const dropped = new Set<string>()
      while (logins.length > mostAtOnce || together > longestTogether) {
        const oldest = logins.shift()
        if (oldest === undefined || logins.length === 0) break
        together -= sizeOf(oldest)
        dropped.add(oldest[0])
      }
      return [...dropped].map(clear)
    },
  }
}

type Cookie = readonly [name: string, value: string]

/** Names and values of login cookies are ASCII, so a character is a byte. */
function sizeOf([name, value]: Cookie): number {
  return name.length + 1 + value.length
}

function parse(header: string | null): Cookie[] {
  return (header ?? '').split(';').map((pair) => {
    const [name = '', ...value] = pair.split('=')
    return [name.trim(), value.join('=').trim()] as const
  })
}

/** Names the login without telling its state. */
async function shortHash(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return Array.from(hash.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
