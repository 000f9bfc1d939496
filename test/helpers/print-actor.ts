/** A program of a user's own, run on its own: prints the actor of the token in its environment. */
import { SupportWorkspace } from '../../src/index.ts'

const { BASE_URL = '', ACCESS_TOKEN = '' } = process.env
const workspace = new SupportWorkspace({ baseUrl: BASE_URL, accessToken: ACCESS_TOKEN })
console.log((await workspace.me()).actor)
