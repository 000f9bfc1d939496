import type { Row, Suite } from '../suites/suite.ts'

/** Renders the rows of a suite for the terminal, with the median and the quartiles of each value. */
export function renderSuite({ shows, unit }: Pick<Suite, 'shows' | 'unit'>, rows: readonly Row[]): string {
  const settings = [...new Set(rows.map(({ setting }) => setting))]
  const names = [...new Set(rows.map(({ name }) => name))]
  const isGrid = settings.length * names.length <= rows.length * 1.5
  const table = isGrid
    ? [
        ['', ...settings],
        ...names.map((name) => [
          name,
          ...settings.map((setting) =>
            cellOf(
              rows.find((row) => row.name === name && row.setting === setting),
              shows,
            ),
          ),
        ]),
      ]
    : rows.map((row) => [row.name, row.setting, cellOf(row, shows)])
  const isExact = rows.every(({ values }) => typeof values[shows] === 'number')
  return `${alignColumns(table)}\n${unit}${isExact ? '' : ': median (quartiles)'}\n`
}

function cellOf(row: Row | undefined, value: string): string {
  const figure = row?.values[value]
  if (figure === undefined) return '-'
  if (typeof figure === 'number') return String(figure)
  return `${short(figure.median)} (${short(figure.q1)}–${short(figure.q3)})`
}

function short(value: number): string {
  const digits = [100, 10, 0].findIndex((threshold) => Math.abs(value) >= threshold)
  return value.toFixed(digits)
}

function alignColumns(table: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of table) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  return table
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
