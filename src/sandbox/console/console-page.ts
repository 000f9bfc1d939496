import { escapeHtml } from '../html-page.ts'

export const consoleIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f5bd0"/><path d="M8 10h16v10H15l-4 4v-4H8z" fill="#fff"/></svg>
`

/** Returns a page with the console's header, style and script. */
export function consoleShell(title: string, content: string, layout: 'wide' | 'narrow' = 'narrow'): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} – Sandbox</title>
<link rel="icon" href="/_sandbox/icon.svg">
<link rel="stylesheet" href="/_sandbox/console.css">
<script src="/_sandbox/console.js" defer></script>
</head>
<body>
<header class="top">
<a class="home" href="/"><img src="/_sandbox/icon.svg" alt="" width="32" height="32"> Sandbox</a>
<h1>${escapeHtml(title)}</h1>
</header>
<main class="${layout}">
${content}
</main>
<footer>A local copy of the service. Its people and organizations are made up.</footer>
<div id="notice" role="status"></div>
</body>
</html>
`
}

/** Returns a button that copies the text of the element with this id. `what` names the text for screen readers. */
export function copyButton(id: string, what: string): string {
  return `<button type="button" class="small" data-copy="${id}" aria-label="Copy ${what}">Copy</button>`
}

/** Returns the console. Its script fills in what changes. */
export function consolePage(app: { name: string; scopes: readonly string[] }): string {
  return consoleShell(
    app.name,
    `<noscript><p class="card error">The console needs JavaScript. The service works without it.</p></noscript>
<div class="columns">
<div class="column">
<section class="card" aria-labelledby="app-title">
<h2 id="app-title">App credentials</h2>
<dl class="facts">
${fact('Base URL', 'base-url')}
${fact('Client ID', 'client-id')}
${fact('Client secret', 'client-secret')}
<div><dt>Redirect URIs</dt><dd><ul id="redirect-uris" class="plain"></ul></dd></div>
</dl>
</section>

<section class="card" aria-labelledby="tokens-title">
<h2 id="tokens-title">Access tokens</h2>
<p class="soft">Ready to use, with every scope of the app.</p>
<div id="tokens"></div>
</section>

<section class="card" id="login" aria-labelledby="login-title">
<h2 id="login-title">Try a login</h2>
<p class="soft">Runs the OAuth flow with PKCE. On the consent page, choose the organization and the role, then see what the token can do.</p>
<form id="login-form">
<fieldset class="choices">
<legend>Actor</legend>
<label><input type="radio" name="actor" value="self" checked> <span><code>self</code>, acts as a person</span></label>
<label><input type="radio" name="actor" value="app"> <span><code>app</code>, acts as the app</span></label>
</fieldset>
<details>
<summary>Scopes <span id="scope-count" class="soft"></span></summary>
<fieldset class="scopes" aria-label="Scopes">
${app.scopes.map((scope) => `<label><input type="checkbox" name="scope" value="${scope}" checked> <code>${scope}</code></label>`).join('\n')}
</fieldset>
</details>
<p class="actions"><button class="primary">Start login</button></p>
</form>
</section>

<section class="card" aria-labelledby="faults-title">
<h2 id="faults-title">Inject a fault</h2>
<form id="fault-form">
<div class="fields">
<label>Kind
<select name="kind">
<option value="status">Error status</option>
<option value="drop">Dropped connection</option>
<option value="truncate">Truncated body</option>
<option value="garbage">HTML instead of JSON</option>
<option value="latency">Only latency</option>
</select>
</label>
<label data-kind="status">Status
<input name="status" inputmode="numeric" value="503" required>
</label>
<label data-kind="status">Retry-After (seconds)
<input name="retry-after" inputmode="numeric" placeholder="none">
</label>
<label data-kind="drop">When
<select name="drop">
<option value="before-effect">Before the effect</option>
<option value="after-effect">After the effect</option>
<option value="mid-headers">In the headers</option>
<option value="mid-body">In the body</option>
</select>
</label>
<label>Latency (ms)
<input name="latency" inputmode="numeric" placeholder="none">
</label>
<label>Method
<select name="method">
<option value="">Any</option>
<option>GET</option>
<option>POST</option>
<option>PATCH</option>
<option>DELETE</option>
</select>
</label>
<label>Path contains
<input name="path" placeholder="/messages" autocomplete="off" spellcheck="false">
</label>
<label>Times, or “all”
<input name="times" value="1" inputmode="numeric" required>
</label>
<label>Skip first
<input name="after" inputmode="numeric" placeholder="0">
</label>
</div>
<p class="actions"><button class="primary">Add fault</button></p>
</form>
<h3>Active faults</h3>
<ul id="faults" class="plain rows"></ul>
</section>
</div>

<div class="column">
<section class="card" aria-labelledby="log-title">
<h2 id="log-title">Requests <span id="live" class="live">connecting</span></h2>
<p class="soft">The last 100 requests to the API, newest first.</p>
<div class="scroll" tabindex="0" role="region" aria-labelledby="log-title">
<table id="log">
<thead><tr><th scope="col">Time</th><th scope="col">Status</th><th scope="col">Request</th><th scope="col">Scope</th><th scope="col">Actor</th><th scope="col">Fault</th></tr></thead>
<tbody></tbody>
</table>
<p class="empty" id="log-empty">No requests yet. Send one with a token from this page.</p>
</div>
</section>

<section class="card" aria-labelledby="connections-title">
<h2 id="connections-title">Connections</h2>
<p class="soft">What an admin sees in the service’s dashboard. A revoked token fails with 401 <code>invalid_token</code>.</p>
<div class="scroll" tabindex="0" role="region" aria-labelledby="connections-title">
<table id="connections">
<thead><tr><th scope="col">App</th><th scope="col">Organization</th><th scope="col">Acts as</th><th scope="col">Scopes</th><th scope="col">Since</th><th scope="col"><span class="hidden">Action</span></th></tr></thead>
<tbody></tbody>
</table>
<p class="empty" id="connections-empty">No app is connected.</p>
</div>
<p class="soft" id="more-connections"></p>
</section>

<section class="card" aria-labelledby="data-title">
<h2 id="data-title">Data</h2>
<div class="data-bar">
<label>Organization <select id="organization"></select></label>
<div id="tables" class="tabs" role="group" aria-label="Lists"></div>
</div>
<div class="scroll" tabindex="0" role="region" aria-labelledby="data-title">
<table id="data"><thead></thead><tbody></tbody></table>
</div>
<p class="soft" id="data-more"></p>
</section>
</div>
</div>`,
    'wide',
  )
}

function fact(name: string, id: string): string {
  const copied = name.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())
  return `<div><dt>${name}</dt><dd><code id="${id}" class="value"></code> ${copyButton(id, copied)}</dd></div>`
}
