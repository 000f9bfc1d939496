// The names that other folders import from the client. `src/index.ts` has the public names.

export { fetchOf, SupportWorkspace } from './client.ts'
export { schemas } from './lazy-schemas.ts'
export type { Contact } from './models/contact.ts'
export type { Conversation } from './models/conversation.ts'
export type { Me } from './models/me.ts'
export type { Message } from './models/message.ts'
export type { User } from './models/user.ts'
export { type OperationId, operations, type WriteOperationId } from './resources/operations.ts'
export { scopesFor } from './resources/scopes-for.ts'
