import { Session } from 'node:inspector/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { toText } from '../../../examples/shared/message-text.ts'

/** Counts how often each block of `toText` and of its libraries runs for each piece, repeated up to a length. */
const { pieces, length } = workerData as { pieces: readonly string[]; length: number }

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

const { exec } = RegExp.prototype
const refuse = () => {
  throw new Error('The steps of a regular expression cannot be counted.')
}

const steps: number[] = []
for (const piece of pieces) {
  RegExp.prototype.exec = refuse
  toText(piece.repeat(Math.ceil(length / piece.length)).slice(0, length))
  RegExp.prototype.exec = exec
  // Taking the counts resets them.
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const ranges = result
    .filter(({ url }) => /message-text|htmlparser2|entities/.test(url))
    .flatMap(({ functions }) => functions.flatMap((each) => each.ranges))
  steps.push(ranges.reduce((sum, { count }) => sum + count, 0))
}
parentPort?.postMessage(steps)
