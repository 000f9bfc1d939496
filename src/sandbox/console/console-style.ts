import { palette } from '../html-page.ts'

export const consoleStyle = `${palette}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 0 24px 32px; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
.top, main, footer { max-width: 1360px; margin: 0 auto; }
.top { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; padding: 16px 0; }
.home { display: flex; gap: 10px; align-items: center; color: inherit; font-weight: 650; text-decoration: none; border-radius: 8px; }
.home img { display: block; }
h1 { margin: 0; padding-left: 16px; border-left: 1px solid var(--line); font-size: 20px; line-height: 1.3; overflow-wrap: anywhere; }
h2 { margin: 0 0 8px; font-size: 16px; line-height: 1.3; overflow-wrap: anywhere; }
h2:has(+ .soft) { margin-bottom: 0; }
h3 { margin: 20px 0 4px; font-size: 14px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); font-size: 14px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
.columns { display: grid; gap: 16px; }
.column { display: grid; gap: 16px; align-content: start; min-width: 0; }
.card { min-width: 0; padding: 20px; background: var(--card); border: 1px solid var(--line); border-radius: 14px; }
main.narrow { max-width: 860px; }
main > .card + .card { margin-top: 16px; }
.card > :last-child, .card form > :last-child { margin-bottom: 0; }
footer { padding: 20px 0 0; color: var(--soft); font-size: 13px; text-align: center; }

code, pre { font: 13px/1.5 ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; }
pre { margin: 8px 0 0; padding: 14px; overflow: auto; background: var(--page); border-radius: 10px; white-space: pre-wrap; overflow-wrap: anywhere; }
.facts { margin: 0; }
.facts div, .token { display: grid; grid-template-columns: 100px 1fr; gap: 4px 12px; align-items: baseline; padding: 8px 0; border-top: 1px solid var(--line); }
.facts div:first-child { border-top: 0; }
.facts dt { color: var(--soft); font-size: 14px; }
.facts dd { display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: baseline; margin: 0; min-width: 0; overflow-wrap: anywhere; }
.value { flex: 1 1 0; min-width: 0; }
.plain { margin: 0; padding: 0; list-style: none; }
.rows li { display: flex; gap: 12px; align-items: center; justify-content: space-between; padding: 8px 0; border-top: 1px solid var(--line); }
.rows li:first-child { border-top: 0; }
.token { grid-template-columns: 1fr auto; }
.token p { grid-column: 1 / -1; margin: 0; }
.token .buttons { display: flex; gap: 8px; align-items: center; }
.token.revoked .value { text-decoration: line-through; color: var(--soft); }

.tag { display: inline-block; padding: 1px 9px; border-radius: 99px; background: var(--tint); color: var(--accent); font-size: 13px; font-weight: 600; white-space: nowrap; }
.tag.bad { background: var(--bad-tint); color: var(--bad); }
.tag.warn { background: var(--write-tint); color: var(--write); }
.tag.good { background: var(--good-tint); color: var(--good); }
.live { margin-left: 8px; padding: 1px 9px; border-radius: 99px; background: var(--write-tint); color: var(--write); font-size: 12px; font-weight: 600; }
.live.on { background: var(--good-tint); color: var(--good); }
.error { color: var(--bad); }

button, .button {
  display: inline-block; min-height: 40px; padding: 8px 18px; font: inherit; font-weight: 600; line-height: 22px; text-decoration: none;
  color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: 9px; cursor: pointer;
}
.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
.small { min-height: 30px; padding: 2px 12px; font-size: 13px; }
.danger { color: var(--bad); }
button:hover, .button:hover { filter: brightness(0.94); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.actions { display: flex; flex-wrap: wrap; gap: 10px; margin: 16px 0 0; }
input, select {
  width: 100%; min-height: 40px; padding: 7px 11px; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: 9px;
}
input::placeholder { color: var(--soft); opacity: 0.75; }
input[type="radio"], input[type="checkbox"] { flex: none; width: 18px; min-height: 18px; margin: 0; accent-color: var(--accent); }
label { font-size: 14px; }
fieldset { min-width: 0; margin: 0; padding: 0; border: 0; }
legend { padding: 0; font-size: 14px; font-weight: 600; }
.choices { display: grid; gap: 8px; margin: 8px 0; }
.choices label, .scopes label { display: flex; gap: 10px; align-items: center; min-height: 28px; cursor: pointer; }
.scopes { display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: 2px 12px; margin-top: 6px; }
summary { padding: 4px 0; font-size: 14px; font-weight: 600; cursor: pointer; border-radius: 6px; }
summary .soft { font-weight: 400; }
.fields { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; }
.fields label:first-child { grid-column: 1 / -1; }
.fields label { display: grid; gap: 4px; align-content: end; font-weight: 600; }
.fields input, .fields select { font-weight: 400; }

.scroll { max-height: 520px; margin: 8px -20px; padding: 0 20px; overflow: auto; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
th { position: sticky; top: 0; z-index: 1; padding: 6px 12px 6px 0; background: var(--card); color: var(--soft); font-size: 13px; font-weight: 600; text-align: left; }
td { padding: 8px 12px 8px 0; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; }
td:last-child, th:last-child { padding-right: 0; }
td .soft { display: block; font-size: 13px; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; color: var(--soft); }
.soft:empty { display: none; }
.token:last-child { padding-bottom: 0; }
.empty { padding: 20px 0; color: var(--soft); text-align: center; }
.tag code { font-size: 12px; white-space: normal; }
td code { overflow-wrap: break-word; }
td.path code { word-break: break-all; }
.data-bar { display: grid; gap: 12px; }
.data-bar label { display: flex; gap: 12px; align-items: center; font-weight: 600; }
.data-bar select { font-weight: 400; }
.tabs { display: flex; flex-wrap: wrap; gap: 8px; }
.tabs [aria-pressed="true"] { border-color: var(--accent); background: var(--tint); color: var(--accent); }

#notice {
  position: fixed; left: 50%; bottom: 20px; z-index: 2; max-width: calc(100vw - 32px); padding: 10px 20px; border-radius: 10px;
  background: var(--text); color: var(--page); font-weight: 600; transform: translateX(-50%); overflow-wrap: anywhere;
}
#notice:empty { display: none; }

@media (min-width: 1000px) {
  .columns { grid-template-columns: 420px minmax(0, 1fr); }
  .data-bar { grid-template-columns: 290px 1fr; }
}
/* On a phone each row of a table is a block, so that nothing scrolls sideways. */
@media (max-width: 640px) {
  body { padding: 0 12px 24px; }
  .card { padding: 16px; }
  .scroll { margin: 8px -16px; padding: 0 16px; }
  .facts div { grid-template-columns: 1fr; }
  thead { display: none; }
  table, tbody { display: block; }
  tr { display: grid; grid-template-columns: 1fr auto; gap: 2px 12px; padding: 10px 0; border-top: 1px solid var(--line); }
  tr:first-child { border-top: 0; }
  td { padding: 0; border: 0; }
  td:empty { display: none; }
  td[data-wide] { grid-column: 1 / -1; }
  td:nth-child(even):not([data-wide]) { justify-self: end; text-align: right; }
  #log td:nth-child(4) { justify-self: start; text-align: left; }
  h1 { width: 100%; padding: 0; border: 0; }
}
`
