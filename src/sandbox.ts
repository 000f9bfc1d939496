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
} from './sandbox/data/shapes.ts'
export type { Fault, FaultRule, Faults } from './sandbox/faults/fault.ts'
export type { RecordedRequest } from './sandbox/http/exchange.ts'
export type { SandboxApp, SandboxOptions } from './sandbox/options.ts'
export { createSandbox, type Sandbox, startSandbox } from './sandbox/sandbox.ts'
export type { EffectiveWrite } from './sandbox/service.ts'
export type { OrganizationState, SandboxState } from './sandbox/state.ts'
export type { TokenOptions } from './sandbox/tokens.ts'
