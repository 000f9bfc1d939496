import { thisSdk } from '../contestants.ts'
import { figureOf } from '../statistics.ts'
import { isDistorted, type Result, type Results, type Selection, selectResults } from './results.ts'

interface Panel {
  readonly title: string
  readonly axis: string
  readonly results: readonly Result[]
  /** Position of the line for bare fetch, if it is not the origin of the axis. */
  readonly bare?: number
  readonly format: (value: number) => string
}

const panelWidth = 300
const gap = 16
const top = 76
const rowHeight = 24
const labelWidth = 72
const plotWidth = 172

/** Renders suites a, c and e as bar charts. Colors follow the reader's color scheme. */
export function renderChart(results: Results): string {
  const panels = panelsOf(results)
  const rows = panels[0]?.results.length ?? 0
  const width = panels.length * panelWidth + (panels.length + 1) * gap
  const bottom = top + rows * rowHeight
  const height = bottom + 58
  const source = `${results.date}, Node ${results.node.slice(1)}, ${results.cpu}.`
  const footer = isDistorted(results)
    ? `The machine was busy during this run, so the times are not reliable. ${source}`
    : `Shorter is better. Bars are medians, thin lines are quartiles. ${source}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(summaryOf(panels))}">
<style>${style}</style>
<rect class="background" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${panels.map((panel, index) => renderPanel(panel, gap + index * (panelWidth + gap), bottom)).join('\n')}
<text class="muted" x="${gap}" y="${height - 16}">${escapeText(footer)}</text>
</svg>
`
}

function panelsOf(results: Results): Panel[] {
  const select = (selection: Selection, scale = 1) =>
    selectResults(results, selection).map(({ name, median, q1, q3 }) => ({
      name,
      median: median * scale,
      q1: q1 * scale,
      q3: q3 * scale,
    }))
  const slowPages = { suite: 'c', setting: '40 pages' } as const
  const bareSeconds = select({ ...slowPages, value: 'bareMs' }, 0.001).map(({ median }) => median)
  return [
    {
      title: 'One list call of 50 items',
      axis: 'time, as a multiple of bare fetch + json()',
      results: select({ suite: 'a', setting: '50 items', value: 'ratio' }),
      bare: 1,
      format: (value) => `${decimals(value, 2)}×`,
    },
    {
      title: 'Reading and processing 40 pages',
      axis: 'seconds; 20 ms latency + 20 ms work per page',
      results: select({ ...slowPages, value: 'ms' }, 0.001),
      bare: figureOf(bareSeconds).median,
      format: (value) => `${decimals(value, 2)} s`,
    },
    {
      title: 'First response of a new process',
      axis: 'milliseconds more than bare fetch',
      results: select({ suite: 'e', setting: 'import', value: 'overBareMs' }),
      format: (value) => `${Math.round(value)} ms`,
    },
  ]
}

function renderPanel({ title, axis, results, bare, format }: Panel, left: number, bottom: number): string {
  const highest = highestShown([...results.map(({ q3 }) => q3), bare ?? 0])
  const step = tickStep(highest)
  const ticks = Array.from({ length: Math.ceil(highest / step) + 1 }, (_, index) => index * step)
  const end = ticks.at(-1) ?? 1
  const plot = left + labelWidth
  const x = (value: number) => decimals(plot + (Math.min(Math.max(value, 0), end) / end) * plotWidth, 1)
  const lines = ticks.map(
    (tick) =>
      `<line class="grid" x1="${x(tick)}" y1="${top - 6}" x2="${x(tick)}" y2="${bottom}"/>` +
      `<text class="muted" text-anchor="middle" x="${x(tick)}" y="${bottom + 16}">${Number(tick.toFixed(2))}</text>`,
  )
  const reference =
    bare === undefined
      ? ''
      : `<line class="bare" x1="${x(bare)}" y1="${top - 6}" x2="${x(bare)}" y2="${bottom}"/>` +
        `<text class="muted" text-anchor="middle" x="${x(bare)}" y="${top - 11}">bare fetch</text>`
  const bars = results.map((result, index) => {
    const y = top + index * rowHeight
    return result.median > end ? renderCutBar(result, y, plot, format) : renderBar(result, y, x, plot, format)
  })
  return `<g>
<text class="title" x="${left}" y="30">${escapeText(title)}</text>
<text class="muted" x="${left}" y="47">${escapeText(axis)}</text>
${lines.join('\n')}
${bars.join('\n')}
${reference}
</g>`
}

function renderBar(
  { name, median, q1, q3 }: Result,
  y: number,
  x: (value: number) => string,
  plot: number,
  format: (value: number) => string,
): string {
  const own = name === thisSdk ? ' own' : ''
  const middle = y + rowHeight / 2
  const end = Number(x(Math.max(median, q3)))
  return [
    `<text class="name${own}" text-anchor="end" x="${plot - 8}" y="${middle + 4}">${labelOf(name)}</text>`,
    `<rect class="bar${own}" x="${plot}" y="${y + 4}" width="${decimals(Number(x(median)) - plot, 1)}" height="${rowHeight - 8}" rx="2"/>`,
    `<line class="quartiles" x1="${x(q1)}" y1="${middle}" x2="${x(q3)}" y2="${middle}"/>`,
    `<text class="value${own}" x="${decimals(end + 6, 1)}" y="${middle + 4}">${format(median)}</text>`,
  ].join('')
}

/** Renders a bar that is longer than the plot, with a gap where it is cut. */
function renderCutBar({ name, median }: Result, y: number, plot: number, format: (value: number) => string): string {
  const own = name === thisSdk ? ' own' : ''
  const [gapStart, height] = [plotWidth - 18, rowHeight - 8]
  return [
    `<text class="name${own}" text-anchor="end" x="${plot - 8}" y="${y + rowHeight / 2 + 4}">${labelOf(name)}</text>`,
    `<rect class="bar${own}" x="${plot}" y="${y + 4}" width="${gapStart}" height="${height}" rx="2"/>`,
    `<rect class="bar${own}" x="${plot + gapStart + 4}" y="${y + 4}" width="14" height="${height}" rx="2"/>`,
    `<text class="value${own}" x="${plot + plotWidth + 6}" y="${y + rowHeight / 2 + 4}">${format(median)}</text>`,
  ].join('')
}

/** Returns the highest value of the axis. A value far above all others would leave no room to compare them. */
function highestShown(values: readonly number[]): number {
  const [highest = 1, next = highest] = values.toSorted((a, b) => b - a)
  return highest > 4 * next ? next : highest
}

function labelOf(name: string): string {
  return name === thisSdk ? 'this SDK' : name
}

/** Returns a round step that divides the axis into two to five parts. */
function tickStep(highest: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(highest))
  return [0.2, 0.5, 1, 2].map((factor) => factor * magnitude).find((step) => highest / step <= 5) ?? magnitude
}

/** Describes the chart for readers who cannot see it. */
function summaryOf(panels: readonly Panel[]): string {
  const sentences = panels.map(({ title, results, format }) => {
    const figures = results.map(({ name, median }) => `${labelOf(name)} ${format(median)}`)
    return `${title}: ${figures.join(', ')}.`
  })
  return sentences.join(' ')
}

function decimals(value: number, digits: number): string {
  return value.toFixed(digits)
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

const style = `
text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328; }
.value { paint-order: stroke; stroke: #ffffff; stroke-width: 3px; }
.title { font-size: 14px; font-weight: 600; }
.muted { font-size: 11px; fill: #59636e; }
.background { fill: #ffffff; stroke: #d1d9e0; }
.grid { stroke: #d1d9e0; }
.bar { fill: #afb8c1; }
.bar.own { fill: #0969da; }
.name.own, .value.own { font-weight: 600; fill: #0969da; }
.quartiles { stroke: #1f2328; stroke-width: 1.5; }
.bare { stroke: #1f2328; stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .muted { fill: #9198a1; }
  .background { fill: #0d1117; stroke: #3d444d; }
  .value { stroke: #0d1117; }
  .grid { stroke: #3d444d; }
  .bar { fill: #656c76; }
  .bar.own { fill: #4493f8; }
  .name.own, .value.own { fill: #4493f8; }
  .quartiles, .bare { stroke: #f0f6fc; }
}
`
