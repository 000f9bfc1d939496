import { type ClientOptions, isSupportWorkspaceError, SupportWorkspace } from 'support-workspace-sdk'
import { OAuthApp, PublicOAuthApp, parseTransaction, serializeTransaction } from 'support-workspace-sdk/oauth'

/** The settings of a check. */
export interface Facts {
  readonly baseUrl: string
  readonly accessToken: string
  readonly redirectUri: string
}

export type CheckName = keyof typeof checks

/** Each check uses the SDK as a script in a browser does, and returns plain data that a test can compare. */
const checks = {
  async mainJob({ baseUrl, accessToken }: Facts) {
    const workspace = await SupportWorkspace.connect({ baseUrl, accessToken })
    const ids: string[] = []
    for await (const { id } of workspace.conversations.list({ limit: 50 })) ids.push(id)
    if (workspace.actor !== 'self') throw new Error(`The actor is ${workspace.actor}.`)
    const message = await workspace.messages.create(ids[0] ?? '', { body_html: '<p>On it.</p>' })
    await workspace.messages.delete(ids[0] ?? '', message.id)
    return { ids, text: message.body_html }
  },

  me: (facts: Facts) => failureOf(client(facts).me({ maxRetries: 0 })),

  write: (facts: Facts) => failureOf(client(facts).contacts.create({ email: 'ada@example.com' }, { maxRetries: 0 })),

  shortTimeout: (facts: Facts) => failureOf(client(facts).me({ maxRetries: 0, timeout: 50 })),

  interrupted: (facts: Facts) => interruptedCall(facts, (interrupt) => ({ hooks: { onAttemptStart: interrupt } })),

  interruptedInBody: (facts: Facts) =>
    interruptedCall(facts, (interrupt) => ({
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        interrupt()
        return response
      },
    })),

  interruptedInWait: (facts: Facts) => interruptedCall(facts, (interrupt) => ({ hooks: { onRetry: interrupt } })),

  secret: ({ baseUrl, redirectUri }: Facts) =>
    failureOf(
      (async () => new OAuthApp({ baseUrl, redirectUri, clientId: 'app_sandbox', clientSecret: 'secret_sandbox' }))(),
    ),

  async publicLogin({ baseUrl, redirectUri }: Facts) {
    const app = new PublicOAuthApp({ baseUrl, redirectUri, clientId: 'app_sandbox' })
    const { url, transaction } = await app.startLogin({ scope: ['conversations:read'], actor: 'self' })
    const { state, code_challenge } = Object.fromEntries(new URL(url).searchParams)
    const kept = parseTransaction(serializeTransaction(transaction))
    return { code_challenge, grant: app.readCallback(`${redirectUri}?code=code_1&state=${state}`, kept) }
  },
}

export function runCheck(name: CheckName, facts: Facts): Promise<unknown> {
  return checks[name](facts)
}

function client({ baseUrl, accessToken }: Facts, options: Partial<ClientOptions> = {}): SupportWorkspace {
  return new SupportWorkspace({ baseUrl, accessToken, ...options })
}

/** Makes a call whose signal is aborted in a new task after one of the options says so, and returns its reason. */
function interruptedCall(
  facts: Facts,
  optionsWith: (interrupt: () => void) => Partial<ClientOptions>,
): Promise<unknown> {
  const controller = new AbortController()
  const interrupt = () => void setTimeout(() => controller.abort('enough'))
  return reasonOf(client(facts, optionsWith(interrupt)).me({ signal: controller.signal }))
}

function reasonOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'no failure',
    (reason: unknown) => reason,
  )
}

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call
    return 'no failure'
  } catch (error) {
    return isSupportWorkspaceError(error) ? JSON.parse(JSON.stringify(error)) : `foreign: ${error}`
  }
}
