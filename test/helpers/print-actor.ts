/**
 * A user's program, run as a separate process. Prints the actor of the token in its environment. Imports the source by
 * path, because outside vitest the package name resolves to the build.
 */
import { SupportWorkspace } from '../../src/index.ts'

const { BASE_URL = '', ACCESS_TOKEN = '' } = process.env
const workspace = new SupportWorkspace({ baseUrl: BASE_URL, accessToken: ACCESS_TOKEN })
console.log((await workspace.me()).actor)
