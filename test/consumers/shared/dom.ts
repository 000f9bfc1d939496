// Compiled with the DOM library: the platform's types are compatible.
import { SupportWorkspace } from 'support-workspace-sdk'

const controller = new AbortController()
const workspace = new SupportWorkspace({
  baseUrl: 'https://api.supportwire.app',
  accessToken: 't',
  fetch: (url, init): Promise<Response> => fetch(url, init),
})

export const me = workspace.me({ signal: controller.signal })
export const headers: Promise<Headers> = me.withResponse().then(({ response }) => response.headers)
