import { html } from 'hono/html'

/** Markup whose interpolated values are escaped. */
export type Markup = ReturnType<typeof html>

/** Returns a whole page. Its style and its icon are served at the sandbox's address. */
export function htmlPage(title: string, body: Markup, scripts?: Markup): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/_sandbox/icon.svg">
<link rel="stylesheet" href="/_sandbox/style.css">
${scripts}
</head>
<body>
${body}
</body>
</html>
`
}

/** Returns a list of facts, each with its name. Facts without a value are left out. */
export function factList(facts: Readonly<Record<string, string | Markup | false | undefined>>): Markup {
  const shown = Object.entries(facts).filter(([, value]) => value)
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** The style of every page, in the colors of the browser's color scheme. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #f4f5f8; --card: #ffffff; --line: #dfe2e9; --text: #1b2030; --soft: #596174;
  --accent: #2f5bd0; --on-accent: #ffffff; --tint: #eef2fd; --warn: #8a4b08; --warn-tint: #fdf3e3;
  --good: #1a6b3c; --good-tint: #e6f5ec; --bad: #a8262f; --bad-tint: #fdecec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12141a; --card: #1b1e26; --line: #323744; --text: #eceef4; --soft: #a5adbf;
    --accent: #8fb0ff; --on-accent: #10182c; --tint: #232c45; --warn: #f2c078; --warn-tint: #352a1a;
    --good: #7fd6a2; --good-tint: #1b3226; --bad: #ff9d9d; --bad-tint: #3d2226;
  }
}
* { box-sizing: border-box; }
html { scroll-padding: 64px 0 120px; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
h1, h2, h3, p, ul, dl, dd, pre { margin: 0; padding: 0; border: 0; min-width: 0; overflow-wrap: anywhere; }
h1 { font-size: 16px; }
h2 { font-size: 14px; font-weight: 650; }
h3 { font-size: 13px; font-weight: 650; }
ul { list-style: none; }
a { color: var(--accent); text-underline-offset: 2px; }
code, pre { font: 12.5px/1.55 ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.soft { color: var(--soft); font-weight: 400; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.card { min-width: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tag {
  display: inline-block; padding: 0 7px; border-radius: 5px; background: var(--tint); color: var(--accent);
  font-size: 12px; font-weight: 600; line-height: 20px; white-space: nowrap;
}
.good { background: var(--good-tint); color: var(--good); }
.warn { background: var(--warn-tint); color: var(--warn); }
.bad { background: var(--bad-tint); color: var(--bad); }
button {
  display: inline-block; padding: 5px 12px; font: inherit; font-weight: 600; line-height: 20px; white-space: nowrap;
  color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: 7px; cursor: pointer;
}
.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
.small { padding: 1px 9px; font-size: 12px; }
.danger { color: var(--bad); }
button:hover { filter: brightness(0.94); }
input, select {
  width: 100%; min-height: 32px; padding: 4px 9px; font: inherit; font-weight: 400; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: 7px;
}
input::placeholder { color: var(--soft); opacity: 0.8; }
summary { cursor: pointer; border-radius: 4px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
footer { padding: 16px; color: var(--soft); font-size: 12px; text-align: center; }

/* The console. */
.top {
  position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center;
  padding: 8px 20px; background: var(--card); border-bottom: 1px solid var(--line);
}
.top img { display: block; }
.top nav { display: flex; gap: 14px; margin-left: auto; }
.top nav a { color: var(--soft); text-decoration: none; }
.columns { display: grid; gap: 14px; max-width: 1480px; margin: 0 auto; padding: 14px 20px; }
.column { display: grid; gap: 14px; align-content: start; min-width: 0; }
.console .card { padding: 12px 16px; }
.console h3 { margin-top: 10px; }
.console summary { padding: 4px 0; overflow-wrap: anywhere; }
.console details { border-top: 1px solid var(--line); }
.bar { display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: center; }
.end { margin-left: auto; }
.grow { flex: 1 1 200px; }
.facts > div, .rows > li { padding: 5px 0; border-top: 1px solid var(--line); }
.facts > div:first-child, .rows > li:first-child { border-top: 0; }
.facts > div { display: grid; grid-template-columns: 110px minmax(0, 1fr); gap: 2px 10px; align-items: baseline; }
.facts dt { color: var(--soft); }
.value { user-select: all; }
.tabs { display: flex; flex-wrap: wrap; gap: 4px; padding: 4px 0; }
.tabs a { padding: 2px 9px; border-radius: 7px; color: var(--soft); text-decoration: none; }
.tabs [aria-current] { background: var(--tint); color: var(--accent); font-weight: 600; }
.line { display: block; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
pre { max-height: 320px; padding: 8px 10px; overflow: auto; background: var(--page); border-radius: 7px; white-space: pre-wrap; }
.message { margin: 6px 0; padding: 6px 10px; border-left: 3px solid var(--line); }
.message.note { border-color: var(--warn); background: var(--warn-tint); }
/* The pages of a login. */
body:has(> .dialog) { display: grid; align-content: center; justify-items: center; min-height: 100vh; padding: 16px; }
.dialog { width: 100%; max-width: 600px; padding: 22px 26px; border-radius: 14px; box-shadow: 0 8px 32px rgb(10 16 40 / 8%); }
.dialog > :is(section, form) > * + *, .dialog > * + * { margin-top: 14px; }
.dialog .title { display: flex; gap: 14px; align-items: center; }
.dialog h1 { font-size: 20px; line-height: 1.25; }
.mark {
  flex: none; display: grid; place-items: center; width: 46px; height: 46px; border-radius: 12px;
  background: var(--accent); color: var(--on-accent); font-size: 22px; font-weight: 700;
}
.dialog:has(> .refused) { border-color: var(--bad); border-top-width: 4px; }
.refused .mark { background: var(--bad-tint); color: var(--bad); }
.refused h1 { color: var(--bad); }
.field { display: grid; gap: 6px; }
.field > label { font-weight: 650; }
.dialog select { min-height: 40px; }
.box { padding: 10px 14px; border-radius: 9px; background: var(--tint); }
.scopes { padding: 8px 14px; border: 1px solid var(--line); border-radius: 9px; }
.scopes summary h2 { display: inline; }
.scopes ul { columns: 2; column-gap: 28px; padding-top: 6px; }
.scopes li { display: flex; gap: 10px; justify-content: space-between; padding: 2px 0; break-inside: avoid; }
/* The buttons stay visible in a low window, or after a long list of scopes was opened. */
.decision {
  position: sticky; bottom: 0; margin: 18px -26px -22px; padding: 14px 26px; background: var(--card);
  border-top: 1px solid var(--line); border-radius: 0 0 14px 14px; text-align: center;
}
.decision > div { display: flex; gap: 10px; margin-bottom: 8px; }
.decision button { flex: 1; padding: 11px; }
@media (min-width: 1000px) { .columns { grid-template-columns: minmax(0, 1fr) 380px; } }
@media (max-width: 640px) {
  .top { padding: 8px 12px; }
  .top nav { width: 100%; margin: 0; }
  .columns { padding: 10px; gap: 10px; }
  .console .card { padding: 10px 12px; }
  .facts > div { grid-template-columns: 1fr; }
  body:has(> .dialog) { align-content: start; padding: 10px; }
  .dialog { padding: 16px; }
  .dialog h1 { font-size: 17px; }
  .scopes ul { columns: 1; }
  .decision { margin: 14px -16px -16px; padding: 12px 16px; }
}
`
