import { setImmediate as turn } from 'node:timers/promises'

/** Waits for a number of turns of the event loop, so that everything that can happen in them has happened. */
export async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await turn()
}
