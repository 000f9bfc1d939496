import { SupportWorkspace } from 'support-workspace-sdk'
import type { Sandbox } from 'support-workspace-sdk/sandbox'

const hostile = (
  server: string,
) => `<p style="color:red" onclick="alert(1)">I wrote &lt;script&gt; myself &amp; more</p>
<img src="${server}/pixel.png" onerror="alert(2)"><style>main { display: none }</style>
<script>alert(3)</script><form action="${server}"><button>Win</button></form><b>bold</b>
<link rel="preconnect" href="${server}"><META http-equiv="refresh" content="0;url=${server}">
<iframe src="${server}"></iframe>`

/**
 * Adds a message with scripts, styles, forms, and addresses of the sender's server to the newest conversation. Returns the
 * conversation's id.
 */
export async function addHostileMessage(sandbox: Sandbox, server = 'https://evil.example'): Promise<string> {
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, actor: 'self' })
  const conversation = sandbox.state.conversations[0]?.id ?? ''
  await workspace.messages.create(conversation, { body_html: hostile(server) })
  return conversation
}
