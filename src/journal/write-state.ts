/**
 * The state of a write:
 *
 * - `sending`: a process is sending the write, or has ended before the response came.
 * - `applied`: the service has applied the write.
 * - `unconfirmed`: the journal could not find out whether the write was applied.
 */
export type WriteState = 'sending' | 'applied' | 'unconfirmed'
