import { InvalidArgumentError } from '../errors/index.ts'
import { isPublicRuntime, serviceUrl } from '../shared/environment.ts'

/**
 * Reads the address and the token of a client from `SUPPORT_WORKSPACE_URL` and `SUPPORT_WORKSPACE_TOKEN`. In Deno, the
 * user is asked for permission.
 */
export function readEnvironment(): { readonly baseUrl: string; readonly accessToken: string } {
  const { env } = (globalThis as { process?: { env?: Readonly<Record<string, string | undefined>> } }).process ?? {}
  if (isPublicRuntime() || env === undefined) {
    throw new InvalidArgumentError(
      'SUPPORT_WORKSPACE_TOKEN',
      '`SupportWorkspace.fromEnvironment` needs environment variables, which a browser and this runtime do not have.',
      'Create the client with `new SupportWorkspace({ baseUrl, accessToken })`. In a browser, use the token of a login.',
    )
  }
  const { SUPPORT_WORKSPACE_URL: url, SUPPORT_WORKSPACE_TOKEN: accessToken } = env
  if (accessToken === undefined || accessToken === '') {
    throw new InvalidArgumentError(
      'SUPPORT_WORKSPACE_TOKEN',
      'The environment variable SUPPORT_WORKSPACE_TOKEN is not set.',
      `Set it to the token of a login, and SUPPORT_WORKSPACE_URL if the service is not ${serviceUrl}. To try the SDK without an account, run \`npx --no -- support-workspace-sdk sandbox\`, which prints both as lines to paste.`,
    )
  }
  return { baseUrl: url === undefined || url === '' ? serviceUrl : url, accessToken }
}
