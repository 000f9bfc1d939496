/**
 * A local imitation of the service to develop and test against. For Node only.
 *
 * @module support-workspace-sdk/sandbox
 */

// src/sandbox is a local implementation of the service, written from its documents alone. It shares no path, schema or
// table with the client, so the tests of each find mistakes of the other. The service is one Hono app; app-env.ts has
// the types of its variables. Files import only from lines further down this list. Folders on the same line do not
// import each other, and console/ skips line 3.
//
// 1. start-sandbox.ts
// 2. server/ and console/
// 3. oauth/ and operations/
// 4. addresses.ts, app-env.ts, html-page.ts, http.ts, request-log.ts, sandbox-data.ts and sandbox-options.ts
// 5. faults/, which also has the types of the app
// 6. data/ and checks.ts

export type { ScopeName as SandboxScope } from './data/scope-catalog.ts'
export type {
  Attachment as SandboxAttachment,
  Contact as SandboxContact,
  Conversation as SandboxConversation,
  ConversationAssignee as SandboxConversationAssignee,
  Group as SandboxGroup,
  LooseRecord as SandboxRecord,
  Member as SandboxMember,
  Message as SandboxMessage,
  Organization as SandboxOrganization,
  OrganizationSettings as SandboxOrganizationSettings,
  User as SandboxUser,
} from './data/shapes.ts'
export type { Fault, FaultRule, Faults } from './faults/fault.ts'
export { parseFault } from './faults/fault-text.ts'
export type { RecordedRequest } from './request-log.ts'
export type { AnswerOptions, ConversationChanges, EffectiveWrite, TokenOptions } from './sandbox-data.ts'
export type { RequestRate, SandboxApp, SandboxOptions } from './sandbox-options.ts'
export {
  createSandbox,
  type OrganizationState,
  type Sandbox,
  type SandboxState,
  startSandbox,
} from './start-sandbox.ts'
