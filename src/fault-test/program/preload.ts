// Runs in each Node process of a program under test, before the program. Processes other than Node have real time.
import { basename } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { JobProcess } from '../job-process.ts'
import { simulatedDate, simulateProcess } from '../simulated-globals.ts'
import { SharedNumbers } from './clock-file.ts'
import { killAtFileWrites } from './file-writes.ts'
import { ProgramClock } from './program-clock.ts'

const { SUPPORT_WORKSPACE_FAULT_TEST: path } = process.env
// A package manager only starts the program. Its file writes must not count.
const isManager = /^(npm|npx|pnpm|yarn|corepack)(-cli)?\.[cm]?js$/.test(basename(process.argv[1] ?? ''))

if (path !== undefined && !isManager) {
  const numbers = new SharedNumbers(path)
  if (isMainThread) simulateProcess({ clock: new ProgramClock(numbers), owner: new JobProcess([]) })
  // A worker thread has a simulated date but real timers. The clock of the main thread waits for the worker.
  else globalThis.Date = simulatedDate(Date, () => numbers.now)
  await killAtFileWrites(numbers)
}
