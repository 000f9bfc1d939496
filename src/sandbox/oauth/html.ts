import { randomBytes } from 'node:crypto'
import { pageStyle } from './page-style.ts'

/** Text made safe for element content and for quoted attribute values. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** A whole page around this markup, with headers that allow it its own style and nothing else. */
export function htmlPage(status: number, title: string, markup: string): Response {
  const nonce = randomBytes(16).toString('base64')
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<style nonce="${nonce}">${pageStyle}</style>
</head>
<body>
<main>
${markup}
</main>
<footer>Local sandbox: the people and organizations here are made up.</footer>
</body>
</html>
`
  return new Response(page, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // No form-action: Chromium holds every redirect after a form against it, and an app's redirect URI may send the
      // browser on to any other origin.
      'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; frame-ancestors 'none'`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  })
}
