import { alignTable } from '../../scripts/endpoint-table.ts'
import { thisSdk } from '../contestants.ts'
import { figureOf } from '../statistics.ts'
import { isDistorted, type Result, type Results, type Selection, selectResults } from './results.ts'

const start = '<!-- bench:start -->'
const end = '<!-- bench:end -->'

interface Line extends Selection {
  readonly label: string
  readonly format: (value: number) => string
}

const times = (value: number) => `${value.toFixed(2)}×`
const seconds = (value: number) => `${(value / 1_000).toFixed(2)} s`
const addedTime = (value: number) => `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(0)} ms`
const kilobytes = (value: number) => `${value.toFixed(1)} kB`

const lines: readonly Line[] = [
  { label: 'One list call of 50 items', suite: 'a', setting: '50 items', value: 'ratio', format: times },
  { label: '200 pages of 50 items', suite: 'b', setting: '200 pages', value: 'ratio', format: times },
  { label: '40 pages, 20 ms latency, 20 ms work', suite: 'c', setting: '40 pages', value: 'ms', format: seconds },
  { label: 'One POST', suite: 'd', setting: 'POST', value: 'ratio', format: times },
  { label: 'First response of a process', suite: 'e', setting: 'import', value: 'overBareMs', format: addedTime },
  { label: 'Client in a bundle, gzip', suite: 'g', setting: 'main client', value: 'gzipKB', format: kilobytes },
]

/** Returns the README with a new benchmark section between the markers. Throws if a marker is missing. */
export function withBenchmark(readme: string, results: Results): string {
  const from = readme.indexOf(start)
  const to = readme.indexOf(end)
  if (from === -1 || to < from) throw new Error(`README.md has no ${start} before ${end}.`)
  return `${readme.slice(0, from + start.length)}\n\n${renderSection(results)}\n\n${readme.slice(to)}`
}

function renderSection(results: Results): string {
  if (isDistorted(results))
    return 'The last saved run was on a busy machine, so its figures are not shown. Run it on an idle one.'
  const heads = ['Measurement', 'This SDK', 'Median of the others', 'Range of the others']
  const rows = lines.map((line) => {
    const selected = selectResults(results, line)
    const others = selected.filter(({ name }) => name !== thisSdk)
    const ours = selected.find(({ name }) => name === thisSdk)
    const named = (index: number) =>
      `${line.format(others.at(index)?.median ?? Number.NaN)} (${others.at(index)?.name})`
    return [
      line.label,
      ours === undefined ? '' : withSpread(ours, line.format),
      line.format(figureOf(others.map(({ median }) => median)).median),
      `${named(0)} to ${named(-1)}`,
    ]
  })
  const { command, date, node, cpu } = results
  return [
    '![Bar charts of three measurements in comparison with other SDKs](bench/chart.svg)',
    '',
    alignTable([heads, ...rows]),
    '',
    `Medians (and quartiles) of \`${command}\` on ${date}, with Node ${node.slice(1)} on ${cpu}.`,
    'The multiples and the added time compare with bare `fetch` and `json()`, for the same response of a local server.',
  ].join('\n')
}

/** A size has no spread. */
function withSpread({ median, q1, q3 }: Result, format: (value: number) => string): string {
  return q1 === q3 ? format(median) : `${format(median)} (${format(q1)} to ${format(q3)})`
}
