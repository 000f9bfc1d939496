/**
 * Calls endpoints that the SDK lacks, with the same authorization, retries, errors and paging as the SDK's methods.
 * Run: npm run example examples/own-operation.ts
 */
import { defineOperation, SupportWorkspace } from 'support-workspace-sdk'
import { startSandbox } from 'support-workspace-sdk/sandbox'
import * as z from 'zod/mini'

const sandbox = await startSandbox({ contacts: 40 })
const workspace = new SupportWorkspace({ baseUrl: sandbox.url, accessToken: sandbox.issueToken() })

const listPeople = defineOperation({
  id: 'people.list',
  method: 'GET',
  path: '/api/oauth/v1/contacts', // stands for an endpoint that the SDK lacks
  scope: 'contacts:read',
  envelope: 'list',
  response: z.looseObject({ id: z.string(), user: z.looseObject({ name: z.nullable(z.string()) }) }),
})

const people = await workspace.call(listPeople, { query: { limit: 15 } }).toArray()
// Prints: People: 40, the first is Elif Rao
console.log(`People: ${people.length}, the first is ${people[0]?.user.name ?? 'nameless'}`)

// For a single untyped call, use `request`. It works without a definition, and returns the body as sent.
const body = await workspace.request('GET', '/api/oauth/v1/organization')
// Prints: Organization: Juniper Supplies
console.log(`Organization: ${(body as { data: { display_name: string } }).data.display_name}`)
await sandbox.close()
