import { SupportWorkspace } from 'support-workspace-sdk'
import type { Sandbox } from 'support-workspace-sdk/sandbox'

const hostile = `<p style="color:red" onclick="alert(1)">I wrote &lt;script&gt; myself &amp; more</p>
<img src="https://evil.example/pixel.png" onerror="alert(2)"><style>main { display: none }</style>
<script>alert(3)</script><form action="https://evil.example"><button>Win</button></form><b>bold</b>`

/** Adds a message with scripts, styles and forms to the newest conversation. Returns the conversation's id. */
export async function addHostileMessage(sandbox: Sandbox): Promise<string> {
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, actor: 'self' })
  const conversation = sandbox.state.conversations[0]?.id ?? ''
  await workspace.messages.create(conversation, { body_html: hostile })
  return conversation
}
