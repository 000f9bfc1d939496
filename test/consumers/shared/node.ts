// Compiled with Node's types and without the DOM library. Only such projects can use the sandbox.
import { SupportWorkspace } from 'support-workspace-sdk'
import { type Sandbox, startSandbox } from 'support-workspace-sdk/sandbox'

export async function tryOut(): Promise<string | undefined> {
  const sandbox: Sandbox = await startSandbox({ conversations: 3 })
  const accessToken = sandbox.issueToken({ actor: 'self' })
  const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken, fetch: sandbox.fetch })
  const { user } = await workspace.me({ signal: AbortSignal.timeout(5_000) })
  await sandbox.close()
  return user?.name ?? process.version
}
