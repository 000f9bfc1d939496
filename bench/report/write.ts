import { readFile, writeFile } from 'node:fs/promises'
import { renderChart } from './chart.ts'
import { withBenchmark } from './readme-section.ts'
import type { Results } from './results.ts'

/** A file of the report, relative to the root of the project. */
export interface ReportFile {
  readonly name: string
  readonly content: string
}

const root = new URL('../../', import.meta.url)

/** Reads the results of the last complete run. */
export async function readResults(): Promise<Results> {
  return JSON.parse(await readText('bench/results.json'))
}

/** Renders the results, the chart and the README. */
export async function renderReport(results: Results): Promise<ReportFile[]> {
  return [
    { name: 'bench/results.json', content: `${JSON.stringify(results, null, 2)}\n` },
    { name: 'bench/chart.svg', content: renderChart(results) },
    { name: 'README.md', content: withBenchmark(await readText('README.md'), results) },
  ]
}

export async function writeReport(results: Results): Promise<void> {
  for (const { name, content } of await renderReport(results)) {
    await writeFile(new URL(name, root), content)
    console.log(`Wrote ${name}.`)
  }
}

function readText(name: string): Promise<string> {
  return readFile(new URL(name, root), 'utf8')
}
