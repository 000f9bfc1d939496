/** An error that is reported to the app through a redirect (RFC 6749, 4.1.2.1). */
export class AuthorizationError extends Error {
  readonly target: RedirectTarget
  readonly code: string

  constructor(target: RedirectTarget, code: string, description: string) {
    super(description)
    this.name = 'AuthorizationError'
    this.target = target
    this.code = code
  }

  get location(): string {
    return redirectLocation(this.target, { error: this.code, error_description: this.message })
  }
}

export interface RedirectTarget {
  redirectUri: string
  state: string | undefined
}

/** Returns the redirect URI with these parameters and the `state` added to its query (RFC 6749, 3.1.2). */
export function redirectLocation({ redirectUri, state }: RedirectTarget, parameters: Record<string, string>): string {
  const query = new URLSearchParams({ ...parameters, ...(state !== undefined && { state }) })
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`
}

/** Returns a redirect. Use 303 after a form, so that the browser continues with GET. */
export function redirect(status: 302 | 303, location: string): Response {
  return new Response(null, {
    status,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  })
}
