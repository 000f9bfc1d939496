import { isSupportWorkspaceError, SupportWorkspace } from 'support-workspace-sdk'

const { SUPPORT_WORKSPACE_URL, SUPPORT_WORKSPACE_TOKEN, SUPPORT_WORKSPACE_FOLDER } = process.env

export const folder = SUPPORT_WORKSPACE_FOLDER
export const body_html = '<p>On it.</p>'

export const workspace = new SupportWorkspace({
  baseUrl: SUPPORT_WORKSPACE_URL,
  accessToken: SUPPORT_WORKSPACE_TOKEN,
  actor: 'self',
  logLevel: 'off',
})

/** Runs a program, and ends it with the exit code that its error has. */
export async function run(program) {
  try {
    await program()
  } catch (error) {
    console.error(`${error.name}: ${error.message}`)
    process.exitCode =
      { retry: 75, reconnect: 77, verify: 65, fix: 70 }[isSupportWorkspaceError(error) && error.remedy] ?? 1
  }
}

export async function newest(limit = 1) {
  return (await workspace.conversations.list({ limit })).data
}
