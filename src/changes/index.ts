/**
 * A feed of changes, for a service without webhooks.
 *
 * @module support-workspace-sdk/changes
 */

export type {
  Change,
  ChangeOf,
  ContactChange,
  ConversationChange,
  Deleted,
  InConversation,
  MessageChange,
  Present,
  WatchedList,
  Written,
} from './change.ts'
export { ChangeFeed } from './change-feed.ts'
export type { ChangeFeedOptions, FeedProblem, FeedStatus } from './feed-options.ts'
export { ChangeFeedError } from './records.ts'
