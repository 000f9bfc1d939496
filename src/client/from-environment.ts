import { type ClientOptions, changeableChecks } from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { checkActor } from '../shared/actor.ts'
import { readOptions } from '../shared/check-options.ts'
import { isPublicRuntime, serviceUrl } from '../shared/environment.ts'

const variables = { baseUrl: 'SUPPORT_WORKSPACE_URL', accessToken: 'SUPPORT_WORKSPACE_TOKEN' }

/** Checks the options of a client whose address and token come from the environment. */
export function checkOwnOptions(options: Omit<ClientOptions, 'baseUrl' | 'accessToken'>): object {
  for (const [name, variable] of Object.entries(variables)) {
    if (Reflect.get(Object(options), name) === undefined) continue
    throw new InvalidArgumentError(
      name,
      `\`${name}\` is not an option of \`fromEnvironment\`, which reads it from the environment variable ${variable}.`,
      'Leave it out, or create the client with `new SupportWorkspace({ baseUrl, accessToken })`.',
    )
  }
  return readOptions(options, { ...changeableChecks(), actor: checkActor }, '`fromEnvironment`')
}

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
