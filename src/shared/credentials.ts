import { InvalidArgumentError } from '../errors/index.ts'
import { placeholder } from '../errors/redact.ts'
import { serviceUrl } from './environment.ts'
import { kindOf } from './json.ts'

const loopbackHosts = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|.+\.localhost)$/

/** Whether a host name refers to this machine (RFC 8252, section 7.3; RFC 6761, section 6.3). */
export function isLoopback(url: URL): boolean {
  return loopbackHosts.test(url.hostname)
}

/**
 * Parses a base URL: absolute, https (http on loopback or if explicitly allowed), without user, password, query or
 * fragment. A trailing slash is removed. The token is bound to its origin.
 */
export function parseBaseUrl(baseUrl: unknown, allowInsecureHttp: boolean): URL {
  const url = typeof baseUrl === 'string' || baseUrl instanceof URL ? toUrl(String(baseUrl)) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    const problem = baseUrl === undefined ? 'is missing' : 'is not an absolute http(s) address'
    const hint = `Pass the address of the service, for example "${addressFor(baseUrl)}".`
    throw new InvalidArgumentError('baseUrl', `\`baseUrl\` ${problem}.`, hint)
  }
  const apiPath = /\/api\/oauth(\/v\d+)?\/*$/.exec(url.pathname)
  if (apiPath !== null) {
    const { origin, pathname } = url
    throw new InvalidArgumentError(
      'baseUrl',
      `\`baseUrl\` contains the path "${apiPath[0]}", which is added to it.`,
      `Pass "${origin}${pathname.slice(0, apiPath.index)}".`,
    )
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError(
      'baseUrl',
      '`baseUrl` has a user, password, query or fragment.',
      'Pass scheme, host and, if need be, a path prefix only.',
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url) && !allowInsecureHttp) {
    const isMistyped = /^l[ocalhst]{6,9}$/.test(url.hostname)
    throw new InvalidArgumentError(
      'baseUrl',
      `\`baseUrl\` is plain http on ${url.host}, which would show the token to the network.`,
      isMistyped
        ? 'Did you mean `localhost`?'
        : 'Use https, or pass `allowInsecureHttp: true` where the network is yours.',
    )
  }
  // An empty query or fragment keeps its `?` or `#` in `href`, and would swallow the path appended to it.
  return new URL(url.origin + url.pathname.replace(/(?<!\/)\/+$/, ''))
}

/**
 * Returns an example of an address. For a host and a port without a scheme, the example is the address with a scheme.
 */
function addressFor(baseUrl: unknown): string {
  const isHost = typeof baseUrl === 'string' && /^[\w.-]+:\d+(\/|$)/.test(baseUrl)
  const url = isHost ? toUrl(`http://${baseUrl}`) : undefined
  if (url === undefined) return serviceUrl
  return isLoopback(url) ? `http://${url.host}` : `https://${url.host}`
}

function toUrl(text: string): URL | undefined {
  // `URL` drops line breaks and tabs, and so would read another host than a person.
  return URL.canParse(text) && !/[\t\r\n]/.test(text.trim()) ? new URL(text) : undefined
}

/** Whether a value is a token that fits in a header: visible ASCII without spaces (RFC 6750, section 2.1). */
export function isAccessToken(value: unknown): value is string {
  return typeof value === 'string' && /^(?!["'`].*["'`]$)[\x21-\x7e]+$/.test(value) && value !== placeholder
}

/** Returns the token if it fits in a header. The error never quotes it. */
export function checkAccessToken(accessToken: unknown): string {
  if (!isAccessToken(accessToken)) {
    throw new InvalidArgumentError(
      'accessToken',
      `\`accessToken\` ${describe(accessToken)}.`,
      'Pass the token exactly as the token endpoint returned it, or a function that returns it.',
    )
  }
  return accessToken
}

function describe(accessToken: unknown): string {
  if (accessToken === undefined) return 'is missing'
  if (typeof accessToken !== 'string') return `must be a string, not ${kindOf(accessToken)}`
  if (accessToken === placeholder) return 'is the text that a token prints as, not the token'
  if (/^(["'`]).*\1$/.test(accessToken)) return 'is in quotes, which are not part of a token'
  return accessToken === '' ? 'is empty' : 'is not a token: it contains whitespace, line breaks or non-ASCII characters'
}
