import { InvalidArgumentError } from '../errors/index.ts'

/** Gives the access token of a client, each time one is needed, and hears when the service no longer takes it. */
export interface AccessTokenSource {
  /** The token to use now. */
  getAccessToken(): string | Promise<string>
  /**
   * Called after a 401 `invalid_token`, with the token that was refused; awaited before the call rejects. What it
   * throws becomes the `cause` of the error.
   */
  onInvalidToken?(accessToken: string): void | Promise<void>
}

/** An access token, a function that gives one (asked before each attempt), or a source. */
export type AccessTokenOption = string | (() => string | Promise<string>) | AccessTokenSource

/** The source behind the option. A token given as a string is checked at once. */
export function toAccessTokenSource(option: AccessTokenOption): AccessTokenSource {
  if (typeof option === 'function') return { getAccessToken: option }
  if (typeof option === 'object' && option !== null && typeof option.getAccessToken === 'function') return option
  const accessToken = checkAccessToken(option)
  return { getAccessToken: () => accessToken }
}

/** Whether a value is a token that fits in a header: visible ASCII without spaces (RFC 6750, section 2.1). */
export function isAccessToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)
}

/** Returns the token if it fits in a header. The error never quotes it. */
export function checkAccessToken(accessToken: unknown): string {
  if (!isAccessToken(accessToken)) {
    throw new InvalidArgumentError(
      'accessToken',
      `\`accessToken\` ${describe(accessToken)}.`,
      'Pass the token exactly as the token endpoint gave it, or a function that returns it.',
    )
  }
  return accessToken
}

function describe(accessToken: unknown): string {
  if (typeof accessToken !== 'string')
    return `must be a string, not ${accessToken === null ? 'null' : typeof accessToken}`
  return accessToken === '' ? 'is empty' : 'is not a token: it contains whitespace, line breaks or non-ASCII characters'
}
