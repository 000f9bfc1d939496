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
export type { RecordedRequest } from './incoming-request.ts'
export type { SandboxApp, SandboxOptions } from './options.ts'
export type { TokenOptions } from './sandbox.ts'
export { createSandbox, type Sandbox, startSandbox } from './sandbox.ts'
export type { EffectiveWrite } from './service.ts'
export type { OrganizationState, SandboxState } from './state.ts'
