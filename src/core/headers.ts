import { InvalidArgumentError } from '../errors/index.ts'
import { checkOptions } from '../shared/check-options.ts'
import { isPlainObject } from '../shared/json.ts'
import { version as sdkVersion } from '../shared/version.ts'
import type { AppInfo } from './options.ts'

/** Checked headers with names in lower case, or a function that returns headers. */
export type HeaderSource = Readonly<Record<string, string>> | (() => unknown)

/** Checks headers. A function is called, and its result checked, before each attempt. */
export function checkHeaders(_: string, given: unknown): HeaderSource {
  return typeof given === 'function' ? (given as () => unknown) : readHeaders(given)
}

/** Headers that callers cannot set. `fetch` does not accept the headers about the connection. */
const ownHeaders = [
  'authorization',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]

/** @throws InvalidArgumentError */
export function readHeaders(given: unknown): Readonly<Record<string, string>> {
  const headers = toHeaders(given)
  if (headers === undefined) {
    throw new InvalidArgumentError(
      'headers',
      '`headers` contains a name or value that HTTP does not allow.',
      'Pass an object of ASCII names and string values without line breaks.',
    )
  }
  const name = ownHeaders.find((each) => headers.has(each))
  if (name === undefined) return Object.fromEntries(headers)
  throw new InvalidArgumentError(
    'headers',
    `The \`${name}\` header is set by the client${name === 'authorization' ? '' : ' or the platform'}.`,
    name === 'authorization' ? 'Pass the token as `accessToken`.' : 'Leave it out.',
  )
}

/** Returns undefined instead of the platform's error, which quotes the value and could leak a secret. */
function toHeaders(given: unknown): Headers | undefined {
  const isIterable = given instanceof Headers || Array.isArray(given)
  if (!isIterable && !isPlainObject(given)) return undefined
  try {
    const entries = (isIterable ? [...given] : Object.entries(given)).filter(([, value]) => value !== undefined)
    return entries.every(([, value]) => typeof value === 'string') ? new Headers(entries) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the `User-Agent` header on server runtimes: this package, the runtime and the application (RFC 9110, section
 * 10.1.5). Browsers send their own.
 */
export function userAgent(app: AppInfo | undefined): { readonly 'user-agent'?: string } {
  // Node, Bun, Deno and Workers put their name here. Test environments such as jsdom pretend to be a browser.
  const runtime = (globalThis as { navigator?: { userAgent?: unknown } }).navigator?.userAgent
  if (typeof runtime !== 'string' || runtime.startsWith('Mozilla/')) return {}
  return { 'user-agent': `support-workspace-sdk/${sdkVersion} ${runtime}${describeApp(app)}` }
}

/** Product name, version and comment (RFC 9110, section 10.1.5). */
const product = /^[\w!#$%&'*+.^`|~-]+(\/[\w!#$%&'*+.^`|~-]+)?( \([\x21-\x27\x2a-\x5b\x5d-\x7e]+\))?$/

const appInfoNames = { name: true, version: true, url: true } satisfies Record<keyof AppInfo, true>

/** Checks and copies the application. */
export function copyAppInfo(option: string, appInfo: unknown): AppInfo {
  checkOptions(option, appInfo, appInfoNames, '`appInfo`')
  const copy = { ...(appInfo as AppInfo) }
  if (typeof copy.name === 'string' && product.test(describeApp(copy).slice(1))) return copy
  throw new InvalidArgumentError(
    'appInfo',
    '`appInfo` cannot be written into the `User-Agent` header.',
    'Pass `name` and `version` without spaces, for example `{ name: "my-sync", version: "1.4.2" }`.',
  )
}

/** Returns what follows the runtime in the header. */
function describeApp(app: AppInfo | undefined): string {
  if (app === undefined) return ''
  const { name, version, url } = app
  return ` ${String(name)}${version ? `/${String(version)}` : ''}${url ? ` (${String(url)})` : ''}`
}
