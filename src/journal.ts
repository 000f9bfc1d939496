/**
 * A journal of writes: each happens once, or is reported as undecided, also if its process is killed.
 *
 * @module support-workspace-sdk/journal
 */

export type { FindEffect, SentWrite } from './journal/effects.ts'
export type { OnceOptions } from './journal/intent.ts'
export { UndecidedWriteError, WriteJournalError } from './journal/journal-errors.ts'
export type { WriteEntry, WriteState } from './journal/records.ts'
export { WriteJournal, type WriteJournalOptions, type WrittenOnce } from './journal/write-journal.ts'
