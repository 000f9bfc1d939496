// What approvals need of the journal. Their entries hold its records.

export { UnconfirmedWriteError, usedTwice } from './journal-errors.ts'
export { pagesOf } from './pages.ts'
export { journalPrefix, recordFields, type WriteEntries, type WriteRecord } from './records.ts'
export { ServiceClock } from './service-clock.ts'
export type { Sender } from './write.ts'
export { WriteJournal } from './write-journal.ts'
