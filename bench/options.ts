import { parseArgs } from 'node:util'
import { type PeerName, peerNames } from './contestants.ts'

/** The suites, and what each of them measures. */
export const suiteTitles = {
  list: 'one list call of 1 and of 50 items',
  pages: '200 pages of 50 items',
  'slow-pages': '40 pages, with 20 ms of latency and 20 ms of work for each page',
  post: 'one POST',
  start: 'the start of a process to its first response',
  bundle: 'size of a bundle',
  growth: 'list calls of 1 to 1,000 items, and 1 to 64 at the same time',
} as const
export type SuiteName = keyof typeof suiteTitles
export const suiteNames = Object.keys(suiteTitles) as SuiteName[]

export interface Options {
  readonly suites: readonly SuiteName[]
  readonly only: readonly PeerName[]
  readonly quick: boolean
  readonly help: boolean
}

export const help = `Compares the SDK with other SDKs and with bare fetch, on local services.

  npm run bench                          all suites; writes the table of docs/performance.md
  npm run bench -- list growth           some suites; prints the results, but writes nothing
  npm run bench -- --quick               three blocks of each measurement; prints the results
  npm run bench -- --only openai,stripe  some SDKs: ${peerNames.join(', ')}

Suites:
${suiteNames.map((name) => `  ${name.padEnd(10)}  ${suiteTitles[name]}`).join('\n')}`

/** Reads the command line. Throws an error with a message for the user if it is invalid. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args)
  const only = values.only?.split(',')
  rejectUnknown('suite', positionals, suiteNames)
  rejectUnknown('SDK', only ?? [], peerNames)
  return {
    suites: positionals.length === 0 ? suiteNames : suiteNames.filter((name) => positionals.includes(name)),
    only: only === undefined ? peerNames : peerNames.filter((name) => only.includes(name)),
    quick: values.quick,
    help: values.help,
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      only: { type: 'string' },
    },
  })
}

function rejectUnknown(kind: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`Unknown ${kind} "${unknown}". Use one of: ${known.join(', ')}.`)
}
