type Site = (request: Request) => Response | Promise<Response>

interface Cookie {
  value: string
  readonly host: string
  readonly path: string
  readonly secure: boolean
}

/**
 * The parts of a browser that a login needs: cookies by host, path and Secure, `__Host-` rules, Max-Age=0, and redirects
 * followed one by one. Sites are handlers by origin; other origins are requested over the network.
 */
export class Browser {
  readonly cookies: Map<string, Cookie> = new Map()
  readonly visited: string[] = []
  readonly #sites: Readonly<Record<string, Site>>

  constructor(sites: Readonly<Record<string, Site>> = {}) {
    this.#sites = sites
  }

  /** Sends one request without following a redirect. */
  async request(address: string, init: RequestInit = {}): Promise<Response> {
    this.visited.push(address)
    const url = new URL(address)
    const headers = new Headers(init.headers)
    const cookies = this.cookieHeader(url)
    if (cookies !== '') headers.set('cookie', cookies)
    const request = new Request(address, { ...init, headers, redirect: 'manual' })
    const site = this.#sites[url.origin]
    const response = site === undefined ? await fetch(request) : await site(request)
    for (const line of response.headers.getSetCookie()) this.#keep(line, url)
    return response
  }

  /** Opens a URL and follows its redirects. `until` stops before a URL is requested. */
  async go(
    address: string,
    until: (next: string) => boolean = () => false,
  ): Promise<{ at: string; response: Response }> {
    let at = address
    for (let step = 0; step < 10; step++) {
      const response = await this.request(at)
      const location = response.headers.get('location')
      if (location === null) return { at, response }
      at = new URL(location, at).href
      if (until(at)) return { at, response }
    }
    throw new Error('too many redirects')
  }

  cookieHeader(url: URL): string {
    return [...this.cookies]
      .filter(([, cookie]) => cookie.host === url.hostname && url.pathname.startsWith(cookie.path))
      .filter(([, cookie]) => !cookie.secure || url.protocol === 'https:')
      .map(([name, cookie]) => `${name}=${cookie.value}`)
      .join('; ')
  }

  #keep(line: string, url: URL): void {
    const [pair = '', ...rest] = line.split('; ')
    const attributes = new Map(rest.map((attribute) => attribute.split('=') as [string, string]))
    const name = pair.slice(0, pair.indexOf('='))
    const path = attributes.get('Path') ?? '/'
    const secure = attributes.has('Secure')
    const isHost = secure && path === '/' && !attributes.has('Domain') && url.protocol === 'https:'
    if (name.startsWith('__Host-') && !isHost) throw new Error(`a browser rejects this cookie: ${line}`)
    if (attributes.get('Max-Age') === '0') this.cookies.delete(name)
    else this.cookies.set(name, { value: pair.slice(name.length + 1), host: url.hostname, path, secure })
  }
}
