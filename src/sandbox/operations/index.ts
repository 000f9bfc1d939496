import { conversationOperations } from './conversations.ts'
import { identityOperations } from './identity.ts'
import { messageOperations } from './messages.ts'
import type { Operation } from './operation.ts'

/** Everything that a token can be used for. */
export const operations: readonly Operation[] = [...identityOperations, ...conversationOperations, ...messageOperations]
