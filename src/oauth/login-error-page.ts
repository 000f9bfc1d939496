import { type ConnectionError, LoginError, type LoginErrorReason, type TimeoutError } from '../errors/index.ts'

/** What the callback of a login can fail with. */
export type LoginFailure = LoginError | ConnectionError | TimeoutError

/**
 * The page that a person sees when a login failed and the app shows none of its own: what happened in a sentence, the
 * reason, and the service's words, escaped. 403 when access was denied, 502 when the service is at fault or does not
 * accept the app, else 400.
 */
export function loginErrorPage(error: LoginFailure): Response {
  const reason = error instanceof LoginError ? error.reason : 'exchange_failed'
  const description = error instanceof LoginError ? error.description : undefined
  const said = description === undefined ? '' : `\n<p>The service says: ${escapeHtml(description)}</p>`
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Not connected</title>
<h1>Not connected</h1>
<p>${sentenceFor(reason)}</p>${said}
<p><small>${reason}</small></p>
</html>
`
  return new Response(html, {
    status: statusFor(reason),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    },
  })
}

function statusFor(reason: LoginErrorReason): number {
  if (reason === 'access_denied') return 403
  return reason === 'exchange_failed' || reason === 'invalid_client' ? 502 : 400
}

function sentenceFor(reason: LoginErrorReason): string {
  const status = statusFor(reason)
  if (status === 403) return 'Access was not granted. Nothing was connected.'
  if (status === 502) return 'The service did not complete the login. Please try again later.'
  if (reason === 'authorization_failed') return 'The service refused the login.'
  return 'This login is not valid any more: it took too long, was used before, or began in another browser. Please start again.'
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
