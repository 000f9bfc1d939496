import { InvalidArgumentError } from '../errors/index.ts'
import { placeholder } from '../errors/redact.ts'

/** Provides the access token of a client, and is notified when the service rejects it. */
export interface AccessTokenSource {
  /** Returns the token. Called before each attempt. */
  getAccessToken(): string | Promise<string>
  /**
   * Called after a 401 `invalid_token` with the rejected token, and awaited before the call rejects. If it throws, the
   * error becomes the `cause` of the call's error.
   */
  onInvalidToken?(accessToken: string): void | Promise<void>
}

/** An access token, a function that returns one (called before each attempt), or an `AccessTokenSource`. */
export type AccessTokenOption = string | (() => string | Promise<string>) | AccessTokenSource

/** Converts the option to a source. A token that is a string is checked immediately. */
export function toAccessTokenSource(option: AccessTokenOption): AccessTokenSource {
  if (typeof option === 'function') return { getAccessToken: option }
  if (typeof option === 'object' && option !== null && typeof option.getAccessToken === 'function') return option
  const accessToken = checkAccessToken(option)
  return { getAccessToken: () => accessToken }
}

/** Whether a value is a token that fits in a header: visible ASCII without spaces (RFC 6750, section 2.1). */
export function isAccessToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && value !== placeholder
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
  if (typeof accessToken !== 'string')
    return `must be a string, not ${accessToken === null ? 'null' : typeof accessToken}`
  if (accessToken === placeholder) return 'is the text that a token prints as, not the token'
  return accessToken === '' ? 'is empty' : 'is not a token: it contains whitespace, line breaks or non-ASCII characters'
}
