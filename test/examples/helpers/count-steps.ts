import { Session } from 'node:inspector/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { toText } from '../../../examples/shared/message-text.ts'

const { piece, length } = workerData as { piece: string; length: number }
const html = piece.repeat(Math.ceil(length / piece.length)).slice(0, length)

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
const { exec } = RegExp.prototype
RegExp.prototype.exec = () => {
  throw new Error('The steps of a regular expression cannot be counted.')
}
toText(html)
RegExp.prototype.exec = exec
const { result } = await session.post('Profiler.takePreciseCoverage')
const ranges = result
  .filter(({ url }) => /message-text|htmlparser2|entities/.test(url))
  .flatMap(({ functions }) => functions.flatMap((each) => each.ranges))
parentPort?.postMessage(ranges.reduce((sum, { count }) => sum + count, 0))
