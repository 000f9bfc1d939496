import { readFile, writeFile } from 'node:fs/promises'
import { peerNames, thisSdk } from '../contestants.ts'
import type { SuiteName } from '../options.ts'
import type { Row } from '../suites/suite.ts'

export type Results = Readonly<Record<SuiteName, readonly Row[]>>

const page = new URL('../../docs/performance.md', import.meta.url)
const start = '<!-- bench:start -->'
const end = '<!-- bench:end -->'

interface Line {
  readonly label: string
  readonly suite: SuiteName
  readonly setting: string
  readonly value: string
  readonly format: (value: number) => string
}

const times = (value: number) => `${value.toFixed(2)}×`
const seconds = (value: number) => `${(value / 1_000).toFixed(2)} s`
const addedTime = (value: number) => `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(0)} ms`
const kilobytes = (value: number) => `${value.toFixed(1)} kB`

const lines: readonly Line[] = [
  { label: 'One list call of 50 items', suite: 'list', setting: '50 items', value: 'ratio', format: times },
  { label: '64 list calls at once', suite: 'growth', setting: '64 at once', value: 'ratio', format: times },
  { label: '200 pages of 50 items', suite: 'pages', setting: '200 pages', value: 'ratio', format: times },
  {
    ...{ label: '40 pages, 20 ms latency, 20 ms work', suite: 'slow-pages' },
    ...{ setting: '40 pages', value: 'ms', format: seconds },
  },
  { label: 'One POST', suite: 'post', setting: 'POST', value: 'ratio', format: times },
  { label: 'First response of a process', suite: 'start', setting: 'import', value: 'overBareMs', format: addedTime },
  { label: 'Client in a bundle, gzip', suite: 'bundle', setting: 'main client', value: 'gzipKB', format: kilobytes },
]

/** Writes the figures of a complete run between the markers of the page. */
export async function writePage(results: Results, run: { date: string; machine: string }): Promise<void> {
  const text = await readFile(page, 'utf8')
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page.pathname} has no ${start} before ${end}.`)
  const rows = lines.map((line) => [line.label, ...peerNames.map((name) => cellOf(results, line, name))])
  const heads = ['Measurement', ...peerNames.map((name) => (name === thisSdk ? 'This SDK' : name))]
  const source = `Medians of \`npm run bench\` on ${run.date}, with ${run.machine}.`
  await writeFile(page, `${before}${start}\n\n${alignTable([heads, ...rows])}\n\n${source}\n\n${end}${after}`)
  console.log('Wrote docs/performance.md.')
}

/** Returns the median of an SDK with its default options. */
function cellOf(results: Results, { suite, setting, value, format }: Line, name: string): string {
  const row = results[suite].find((each) => each.name === name && each.setting === setting)
  const figure = row?.values[value]
  if (figure === undefined) throw new Error(`There is no ${value} of ${name} in the suite ${suite}, ${setting}.`)
  return format(typeof figure === 'number' ? figure : figure.median)
}

/**
 * Whether other work on the machine distorted the times. All of the SDKs call `fetch`, so a time far below that of bare
 * `fetch` cannot be right, unless an SDK fetches the next page while the caller works.
 */
export function isDistorted({ 'slow-pages': _, ...results }: Results): boolean {
  return Object.values(results)
    .flat()
    .some(({ values: { ratio } }) => typeof ratio === 'object' && ratio.median < 0.9)
}

function alignTable(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>((widest, row) => row.map((cell, i) => Math.max(cell.length, widest[i] ?? 0)), [])
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')
}
