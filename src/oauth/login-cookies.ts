import { InvalidArgumentError } from '../errors/index.ts'
import { sha256 } from '../shared/bytes.ts'

/** The maximum number of logins in progress in one browser. Above it the oldest is dropped. */
const maxLogins = 5

/**
 * The maximum size of a cookie's name and value, in bytes. Browsers may reject more than 4,096 (RFC 6265, section 6.1).
 */
const maxCookieSize = 3_500

/**
 * The maximum total size of all login cookies, in bytes. Servers and proxies commonly respond with 431 to headers above
 * 8 kB, and the app has other cookies too.
 */
const maxTotalSize = 6_000

/** The cookies of logins in progress. Each login has a separate cookie, so that two tabs do not collide. */
export interface LoginCookies {
  /** Returns the name of the cookie for the login with a state. */
  nameFor(state: string): Promise<string>
  /** Returns the `Set-Cookie` value that sets a cookie. `lifetime` is in milliseconds. */
  set(name: string, value: string, lifetime: number): string
  /** Returns the `Set-Cookie` value that removes a cookie. */
  clear(name: string): string
  /** Returns the value of a cookie in a `Cookie` header. */
  read(header: string | null, name: string): string | undefined
  /** Whether a browser accepts a cookie with this value. */
  fits(name: string, value: string): boolean
  /** Returns the `Set-Cookie` values that remove the oldest logins, at most four, to make room for another one. */
  makeRoom(header: string | null, name: string, value: string): string[]
}

/**
 * Creates the cookies for the callback at a redirect URI: HttpOnly, and SameSite=Lax, so that the browser sends them
 * when the service redirects it back.
 *
 * Over https they are Secure and have the `__Host-` prefix, so that no other host, including subdomains, can set them.
 * Over http (loopback) neither is possible. The prefix requires `Path=/`, which also lets the start of a login count
 * the logins in progress.
 */
export function loginCookies(redirectUri: string, cookieName: string): LoginCookies {
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
  const prefix = `${secure ? '__Host-' : ''}${cookieName}.`
  const attributes = `Path=/; ${secure ? 'Secure; ' : ''}HttpOnly; SameSite=Lax`
  const clear = (name: string) => `${name}=; Max-Age=0; ${attributes}`
  return {
    // The hash identifies the login without revealing its state.
    nameFor: async (state) => prefix + (await sha256(state)).slice(0, 16),
    set: (name, value, lifetime) => `${name}=${value}; Max-Age=${Math.ceil(lifetime / 1000)}; ${attributes}`,
    clear,
    read: (header, name) => parse(header).find(([candidate]) => candidate === name)?.[1],
    fits: (name, value) => sizeOf([name, value]) <= maxCookieSize,
    makeRoom(header, name, value) {
      const isLogin = ([name]: Cookie) => name.startsWith(prefix) && /^[0-9a-f]{16}$/.test(name.slice(prefix.length))
      // Browsers send the older of two cookies first (RFC 6265, section 5.4).
      const logins: Cookie[] = [...parse(header).filter(isLogin), [name, value]]
      const dropped = logins.slice(0, logins.length - fittingOf(logins))
      // The next login removes the rest, so that no request costs many headers.
      return [...new Set(dropped.map(([name]) => clear(name)))].slice(0, maxLogins - 1)
    },
  }
}

type Cookie = readonly [name: string, value: string]

/**
 * Returns how many of the newest logins fit together. Reads each cookie at most once, because anyone can send
 * thousands.
 */
function fittingOf(logins: readonly Cookie[]): number {
  let size = 0
  const newest = logins.slice(-maxLogins).reverse()
  const firstTooMany = newest.findIndex((cookie) => {
    size += sizeOf(cookie)
    return size > maxTotalSize
  })
  return firstTooMany === -1 ? newest.length : firstTooMany
}

/** The size in bytes. Names and values of login cookies are ASCII. */
function sizeOf([name, value]: Cookie): number {
  return name.length + 1 + value.length
}

function parse(header: string | null): Cookie[] {
  return (header ?? '').split(';').map((pair) => {
    const [name = '', ...value] = pair.split('=')
    return [name.trim(), value.join('=').trim()] as const
  })
}
