import { randomBytes } from 'node:crypto'

/** Escapes text for element content and quoted attribute values. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Returns a page with this markup. Its headers allow only its own style. */
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
<footer>Local sandbox. The people and organizations on this page are made up.</footer>
</body>
</html>
`
  return new Response(page, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // No form-action: Chromium applies it to every redirect after a form, and an app's redirect URI can redirect the
      // browser to any origin.
      'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; frame-ancestors 'none'`,
      'cache-control': 'no-store',
      // With `no-referrer` the consent form would be sent with `Origin: null`, as a form of another site can be.
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  })
}

/** The colors of every page, for the light and the dark color scheme of the browser. */
export const palette = `
:root {
  color-scheme: light dark;
  --page: #f3f4f7; --card: #ffffff; --line: #dcdfe6; --text: #1b2030; --soft: #596174;
  --accent: #2f5bd0; --on-accent: #ffffff; --tint: #eef2fd; --write: #8a4b08; --write-tint: #fdf3e3;
  --good: #1a6b3c; --good-tint: #e6f5ec; --bad: #a8262f; --bad-tint: #fdecec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12141a; --card: #1c1f28; --line: #343947; --text: #eceef4; --soft: #a5adbf;
    --accent: #8fb0ff; --on-accent: #10182c; --tint: #232c45; --write: #f2c078; --write-tint: #352a1a;
    --good: #7fd6a2; --good-tint: #1b3226; --bad: #ff9d9d; --bad-tint: #3d2226;
  }
}
`

// One column and the system's font.
const pageStyle = `${palette}
* { box-sizing: border-box; }
html { scroll-padding-bottom: 140px; }
body {
  margin: 0; min-height: 100vh; padding: 16px; display: flex; flex-direction: column; align-items: center;
  justify-content: center; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main {
  width: 100%; max-width: 640px; padding: 28px 32px; background: var(--card); border: 1px solid var(--line);
  border-radius: 16px; box-shadow: 0 8px 32px rgb(10 16 40 / 8%);
}
header { display: flex; gap: 16px; align-items: center; }
.mark {
  flex: none; width: 52px; height: 52px; display: grid; place-items: center; border-radius: 14px;
  background: var(--accent); color: var(--on-accent); font-size: 24px; font-weight: 700;
}
h1 { margin: 0; font-size: 22px; line-height: 1.25; overflow-wrap: anywhere; }
h2, legend, .label { margin: 0; padding: 0; font-size: 14px; font-weight: 600; }
p { margin: 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: 14px; }
section, fieldset, .field { margin: 18px 0 0; padding: 0; border: 0; min-width: 0; }
header + p { margin-top: 12px; }
.actor { padding: 12px 16px; border-radius: 10px; background: var(--tint); }
.actor p { margin-top: 2px; font-size: 14px; }
ul {
  display: grid; grid-template-columns: 1fr 1fr; gap: 0 28px; margin: 8px 0 0; padding: 4px 14px; list-style: none;
  border: 1px solid var(--line); border-radius: 10px;
}
li { display: flex; gap: 12px; align-items: baseline; justify-content: space-between; padding: 3px 0; font-size: 14px; }
ul + p { margin-top: 8px; }
.kind { flex: none; padding: 0 8px; border-radius: 99px; font-size: 12px; font-weight: 600; background: var(--tint); color: var(--accent); }
.kind.write { background: var(--write-tint); color: var(--write); }
.choices { display: grid; grid-template-columns: 1fr 1fr; gap: 8px; margin-top: 8px; }
.choice {
  display: flex; gap: 12px; align-items: center; padding: 8px 14px; min-height: 44px; cursor: pointer;
  border: 1px solid var(--line); border-radius: 10px;
}
.choice:has(:checked) { border-color: var(--accent); background: var(--tint); }
.choice input { flex: none; width: 18px; height: 18px; margin: 0; accent-color: var(--accent); }
.choice span { display: block; overflow-wrap: anywhere; }
select {
  width: 100%; min-height: 44px; margin-top: 8px; padding: 8px 12px; font: inherit; color: inherit;
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
}
select + p { margin-top: 8px; }
/* The buttons stay visible, however long the list of scopes is. */
.decision {
  position: sticky; bottom: 0; margin: 20px -32px -28px; padding: 16px 32px; background: var(--card);
  border-top: 1px solid var(--line); border-radius: 0 0 16px 16px;
}
.buttons { display: flex; gap: 12px; }
button {
  flex: 1 1 0; min-height: 48px; padding: 10px 20px; font: inherit; font-weight: 600; border-radius: 10px;
  cursor: pointer; border: 1px solid var(--line); background: var(--card); color: var(--text);
}
button.allow { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
button:hover { filter: brightness(0.95); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
code { font: 13px/1.5 ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.target { margin-top: 8px; text-align: center; }
footer { margin-top: 12px; max-width: 640px; color: var(--soft); font-size: 13px; text-align: center; }
@media (max-width: 520px) {
  body { padding: 12px; justify-content: flex-start; }
  main { padding: 20px; }
  ul, .choices { grid-template-columns: 1fr; }
  .decision { margin: 20px -20px -20px; padding: 12px 20px; }
}
`
