// The names that other folders import from the client. `src/index.ts` has the public names.

export { fetchOf, SupportWorkspace } from './client.ts'
export type { Contact, Conversation, Me, Message, User } from './generated/models.ts'
export { identityOf, TokenIdentities } from './identity.ts'
export { schemas } from './lazy-schemas.ts'
export { operations, type WriteOperationId } from './resources/operations.ts'
export { scopesFor } from './resources/scopes-for.ts'
