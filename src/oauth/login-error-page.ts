import { LoginError, type LoginErrorReason, type NetworkError, type TimeoutError } from '../errors/index.ts'
import { temporaryCodes } from '../errors/login-error.ts'
import { escapeHtml } from '../shared/text-to-html.ts'

/** The errors of a login before `onConnected` is called. */
export type LoginFailure = LoginError | NetworkError | TimeoutError

/**
 * Returns the status of a failed login: 403 if access was denied, 502 if the service failed or rejected the app, else
 * 400.
 */
export function statusOf(failure: LoginFailure): number {
  const reason = reasonOf(failure)
  if (reason === 'access_denied') return 403
  return reason === 'exchange_failed' || reason === 'invalid_client' || hasServiceFailed(failure) ? 502 : 400
}

/**
 * Whether the error code of the callback means a 500 or a 503, because a redirect cannot have these statuses (RFC 6749,
 * section 4.1.2.1).
 */
function hasServiceFailed(failure: LoginFailure): boolean {
  const code = failure instanceof LoginError ? failure.code : undefined
  return temporaryCodes.has(code ?? '')
}

/**
 * Returns the default page of a failed login. It tells the visitor what happened, the description of a denial
 * (escaped), the reason, and has a link to try again.
 */
export function loginErrorPage(failure: LoginFailure, tryAgain: string): Response {
  const denial = failure instanceof LoginError && failure.reason === 'access_denied' ? failure.description : undefined
  const quotation = denial === undefined ? '' : `\n<blockquote>${escapeHtml(denial)}</blockquote>`
  return page(statusOf(failure), 'Not connected', {
    text: `<p>${sentenceFor(failure)}</p>${quotation}`,
    link: `<a href="${escapeHtml(tryAgain)}">Try again</a>`,
    footer: `\n<p class="reason">${reasonOf(failure)}</p>`,
  })
}

interface Content {
  readonly text: string
  readonly link: string
  readonly footer: string
}

function page(status: number, title: string, { text, link, footer }: Content): Response {
  const nonce = crypto.randomUUID()
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style nonce="${nonce}">${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${text}
<p>${link}</p>${footer}
</main>
</body>
</html>
`
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
    },
  })
}

function reasonOf(failure: LoginFailure): LoginErrorReason {
  return failure instanceof LoginError ? failure.reason : 'exchange_failed'
}

function sentenceFor(failure: LoginFailure): string {
  if (failure.remedy === 'fix') return 'This app is not set up correctly. Please tell its operator.'
  const status = statusOf(failure)
  if (status === 403) return 'Access was not granted, so nothing was connected.'
  if (status === 502) return 'The service could not complete the login. Please try again later.'
  const reason = reasonOf(failure)
  if (reason === 'authorization_failed') return 'The service rejected the login.'
  if (reason === 'transaction_used') return 'This login was already used. Try again if you are not connected.'
  return 'This login is no longer valid. It took too long, was already used or replaced by a newer one, or was started in another browser.'
}

const style = `
:root {
  color-scheme: light dark;
  --page: #f4f5f7; --card: #fff; --line: #dfe2e8; --text: #1c2230; --soft: #5a6375; --accent: #2b57c8; --on-accent: #fff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151b; --card: #1b1f28; --line: #353b49; --text: #eceff5; --soft: #a7afc0; --accent: #8eafff; --on-accent: #0f172b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; padding: 24px 16px; display: grid; place-items: center;
  background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif;
}
main {
  width: 100%; max-width: 440px; padding: 32px; background: var(--card); border: 1px solid var(--line);
  border-radius: 14px; overflow-wrap: anywhere;
}
h1 { margin: 0 0 8px; font-size: 22px; line-height: 1.3; }
p { margin: 0; }
blockquote { margin: 16px 0 0; padding: 2px 0 2px 14px; border-left: 3px solid var(--line); color: var(--soft); }
a {
  display: inline-block; margin-top: 24px; padding: 10px 20px; border-radius: 8px; font-weight: 600;
  text-decoration: none; background: var(--accent); color: var(--on-accent);
}
a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.reason { margin-top: 24px; color: var(--soft); font: 13px/1.5 ui-monospace, monospace; }
`
