import { contactOperations } from './contacts.ts'
import { conversationOperations } from './conversations.ts'
import { identityOperations } from './identity.ts'
import { messageOperations } from './messages.ts'
import type { Operation } from './operation.ts'
import { organizationOperations } from './organization.ts'
import { recordOperations } from './records.ts'
import { userOperations } from './users.ts'

/** Everything that a token can be used for. */
export const operations: readonly Operation[] = [
  ...identityOperations,
  ...conversationOperations,
  ...messageOperations,
  ...contactOperations,
  ...userOperations,
  ...organizationOperations,
  ...recordOperations,
]
