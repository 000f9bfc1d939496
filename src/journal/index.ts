/**
 * A write journal: sends each write at most once, even if the job is retried or its process is killed.
 *
 * @module support-workspace-sdk/journal
 */

export type { FindEffect, SentWrite } from './effects.ts'
export type { OnceOptions } from './intent.ts'
export {
  type UnconfirmedReason,
  UnconfirmedWriteError,
  WriteJournalError,
  WriteResolvedError,
  type WriteState,
} from './journal-errors.ts'
export type { WriteCheck, WriteEntry } from './records.ts'
export { type ListWritesOptions, WriteJournal, type WriteJournalOptions, type WrittenOnce } from './write-journal.ts'
