import { Session } from 'node:inspector/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { htmlToText } from '../../src/html/index.ts'

/** Counts how often each block of `htmlToText` and of its libraries runs for each piece, repeated up to a length. */
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
  htmlToText(piece.repeat(Math.ceil(length / piece.length)).slice(0, length))
  RegExp.prototype.exec = exec
  // Taking the counts resets them.
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const ranges = result
    .filter(({ url }) => /src\/html|htmlparser2|entities/.test(url))
    .flatMap(({ functions }) => functions.flatMap((each) => each.ranges))
  steps.push(ranges.reduce((sum, { count }) => sum + count, 0))
}
parentPort?.postMessage(steps)
