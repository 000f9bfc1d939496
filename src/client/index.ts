// The names that other folders import from the client. `src/index.ts` has the public names.

export { fetchOf, SupportWorkspace } from './client.ts'
export type { Contact, Conversation, Me, Message, User } from './generated/models.ts'
export { schemas } from './lazy-schemas.ts'
export { operations, type WriteOperationId } from './resources/built-in-operations.ts'
export { scopesFor } from './resources/scopes-for.ts'
export { identityOf, isWhole, TokenIdentities } from './token-identity.ts'
