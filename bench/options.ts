import { parseArgs } from 'node:util'
import { type PeerName, peerNames } from './contestants.ts'

export const suiteLetters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const
export type SuiteLetter = (typeof suiteLetters)[number]

export interface Options {
  readonly letters: readonly SuiteLetter[]
  readonly only: readonly PeerName[]
  readonly quick: boolean
  readonly save: boolean
  readonly report: boolean
  readonly help: boolean
}

export const help = `Compares the SDK with other SDKs and with bare fetch, on local services.

  npm run bench                          all suites; writes results.json, chart.svg and the section of the README
  npm run bench -- a c                   some suites; prints the results, but writes nothing
  npm run bench -- e g --save            some suites again; writes theirs into the results of the same day
  npm run bench -- --quick               three blocks of each measurement; prints the results
  npm run bench -- --quick --save        the same; writes the results, which are less precise
  npm run bench -- --report              no suite; writes the chart and the section again from results.json
  npm run bench -- --only openai,stripe  some SDKs: ${peerNames.join(', ')}

Suites:
  a  one list call of 1 and of 50 items
  b  200 pages of 50 items
  c  40 pages, with 20 ms of latency and 20 ms of work for each page
  d  one POST
  e  the start of a process to its first response
  f  heap in a loop over 200,000 items
  g  size of a bundle
  h  list calls of 1 to 1,000 items, and 1 to 64 at the same time`

/** Reads the command line. Throws an error with a message for the user if it is invalid. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args)
  const only = values.only?.split(',')
  rejectUnknown('suite', positionals, suiteLetters)
  rejectUnknown('SDK', only ?? [], peerNames)
  return {
    letters: positionals.length === 0 ? suiteLetters : suiteLetters.filter((letter) => positionals.includes(letter)),
    only: only === undefined ? peerNames : peerNames.filter((name) => only.includes(name)),
    quick: values.quick,
    save: values.save,
    report: values.report,
    help: values.help,
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      only: { type: 'string' },
    },
  })
}

function rejectUnknown(kind: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`Unknown ${kind} "${unknown}". Use one of: ${known.join(', ')}.`)
}
