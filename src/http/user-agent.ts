import type { AppInfo } from '../client-options.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { version as sdkVersion } from '../version.ts'

/**
 * The `User-Agent` header of a server runtime: this package, the runtime, the application (RFC 9110, section 10.1.5).
 * Empty in a browser, which sends its own.
 */
export function userAgent(appInfo: AppInfo | undefined): { readonly 'user-agent'?: string } {
  const app = appInfo === undefined ? '' : ` ${describeApp(appInfo)}`
  // Node, Bun, Deno and Workers name themselves here. A test environment such as jsdom poses as a browser.
  const runtime = (globalThis as { navigator?: { userAgent?: unknown } }).navigator?.userAgent
  if (typeof runtime !== 'string' || runtime.startsWith('Mozilla/')) return {}
  return { 'user-agent': `support-workspace-sdk/${sdkVersion} ${runtime}${app}` }
}

/** A product of RFC 9110: a token, a version, and a comment. */
const product = /^[\w!#$%&'*+.^`|~-]+(\/[\w!#$%&'*+.^`|~-]+)?( \([\x21-\x27\x2a-\x5b\x5d-\x7e]+\))?$/

function describeApp(appInfo: AppInfo): string {
  const { name, version: appVersion, url } = Object(appInfo) as AppInfo
  const version = (appVersion ?? undefined) === undefined ? '' : `/${appVersion}`
  const text = `${name}${version}${(url ?? undefined) === undefined ? '' : ` (${url})`}`
  if (typeof name === 'string' && product.test(text)) return text
  throw new InvalidArgumentError(
    'appInfo',
    '`appInfo` cannot be written into the `User-Agent` header.',
    'Pass `name` and `version` without spaces, for example `{ name: "my-sync", version: "1.4.2" }`.',
  )
}
