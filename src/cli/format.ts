import { stringify } from 'csv-stringify/sync'
import widthOf from 'fast-string-width'
import { isObject } from '../shared/json.ts'
import { listOf } from './options.ts'
import { oneLine, printable, type Terminal } from './terminal.ts'

export type Format = 'table' | 'ndjson' | 'json' | 'csv'

/** How CSV and times are written. */
export interface Layout {
  readonly raw?: boolean | undefined
  readonly bom?: boolean | undefined
  readonly delimiter?: ',' | ';' | '|' | 'tab' | undefined
  readonly dates?: 'epoch' | 'iso' | undefined
  readonly utc?: boolean | undefined
}

/** How rows are written. */
export interface FormatFlags extends Layout {
  readonly fields?: readonly string[] | undefined
}

/** Notes the fields that no item of the first page has, because one may be misspelled. */
export function noteUnseen({ fields = [] }: FormatFlags, items: readonly unknown[], terminal: Terminal): void {
  for (const field of fields.filter((each) => items.every((item) => valueAt(item, each) === undefined))) {
    terminal.note(`No item of the first page has the field ${field}.`, { field })
  }
}

/** The fields of a kind in tables and CSV, the most important first. The documents do not name those of tasks and segments. */
export const knownFields: Readonly<Record<string, readonly string[]>> = {
  conversations: listOf(
    `id status user.name last_message_inserted_at user.email conversation_assignee.user_id inserted_at group.name is_spam
     pinned unread_count initial_message last_message summary user.id`,
  ),
  messages: listOf('id inserted_at user.name body_html user.email conversation_id user.id source is_ai_message'),
  notes: listOf('id inserted_at user.name body_html user.email conversation_id user.id source is_ai_message'),
  contacts: listOf('id user.name user.email inserted_at active_at updated_at source blocked starred active user.id'),
  members: listOf('id role user.name user.email archived user.id'),
}

/** The column whose ids a table replaces by names. */
export const assigneeField = 'conversation_assignee.user_id'

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: what this is about
/** Begins a text that a spreadsheet runs as a formula. Some programs skip a NUL, and find the formula behind it. */
const formula = /^\0*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/
/** Characters that some reader takes for the end of a row. */
const rowEnds = /[\r\n\v\f\x1c-\x1e\x85\u2028\u2029\0]/
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: what this is about

/** Returns rows as CSV. NDJSON is the exact form: CSV is for spreadsheets, where a text must not act as a formula. */
export function toCsv(rows: readonly (readonly unknown[])[], { raw, delimiter = ',' }: Layout = {}): string {
  const toCell = (value: unknown) => (typeof value === 'number' ? value : raw ? toText(value) : guarded(toText(value)))
  return stringify(
    rows.map((row) => row.map(toCell)),
    { delimiter: delimiter === 'tab' ? '\t' : delimiter, record_delimiter: '\n', quoted_match: rowEnds },
  )
}

/** What CSV begins with, before its header. */
export function csvStart(columns: readonly string[], layout: Layout): string {
  return `${layout.bom ? '\uFEFF' : ''}${toCsv([columns], layout)}`
}

function guarded(text: string): string {
  return formula.test(text) ? `'${text}` : text
}

/** Returns a cell of a file without its guard. */
export function unguarded(cell: string): string {
  return cell.startsWith("'") && formula.test(cell.slice(1)) ? cell.slice(1) : cell
}

/** Returns the cells of an item, for CSV. */
export function cellsOf(item: unknown, fields: readonly string[], { dates, utc }: Layout): unknown[] {
  return fields.map((field) => {
    const value = valueAt(item, field)
    return dates === 'iso' && isTime(field, value) ? timeText(value, 'iso', utc) : value
  })
}

/** Returns the value at a path such as `user.email`. */
export function valueAt(item: unknown, field: string): unknown {
  return field.split('.').reduce((value: unknown, name) => {
    return isObject(value) && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
  }, item)
}

/** Whether a field is a time, in seconds since the Unix epoch. */
export function isTime(field: string, value: unknown): value is number {
  return field.endsWith('_at') && typeof value === 'number' && !Number.isNaN(new Date(value * 1_000).getTime())
}

/** Returns a time as `2026-01-07 18:30`, or with seconds and offset, as `2026-01-07T18:30:00+01:00`. */
function timeText(seconds: number, form: 'table' | 'iso', isUtc: boolean | undefined): string {
  const offset = isUtc ? 0 : -new Date(seconds * 1_000).getTimezoneOffset()
  const shown = new Date((seconds + offset * 60) * 1_000).toISOString()
  if (form === 'table') return shown.slice(0, 16).replace('T', ' ')
  const part = (minutes: number) => String(Math.trunc(minutes)).padStart(2, '0')
  const zone = isUtc ? 'Z' : `${offset < 0 ? '-' : '+'}${part(Math.abs(offset) / 60)}:${part(Math.abs(offset) % 60)}`
  return `${shown.slice(0, 19)}${zone}`
}

/** Returns a value of the service as text. */
export function toText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** How a table is shown. */
export interface TableSettings {
  /** The number of columns of the terminal. */
  readonly width?: number | undefined
  /** Names for ids. */
  readonly names?: ReadonlyMap<string, string>
}

/** Returns a function that formats one page of a list after the other, and once more with undefined at the end. */
export function createFormatter(
  format: Format,
  kind: string,
  flags: FormatFlags,
  { width, names }: TableSettings = {},
): (items: readonly unknown[] | undefined) => string {
  const { fields } = flags
  let columns: readonly string[] | undefined
  let table: ((rows: readonly (readonly string[])[]) => string) | undefined
  return (items) => {
    const isFirst = columns === undefined
    if (items === undefined) return format !== 'json' ? '' : isFirst ? '[]\n' : '\n]\n'
    if (items.length === 0) return ''
    const lines = items.map((item) => JSON.stringify(fields === undefined ? item : pick(item, fields)))
    columns ??= fields ?? knownFields[kind] ?? Object.keys(Object(items[0]))
    const shown = columns
    if (format === 'ndjson') return `${lines.join('\n')}\n`
    if (format === 'json') return `${isFirst ? '[\n' : ',\n'}${lines.join(',\n')}`
    if (format === 'csv') {
      const start = isFirst ? csvStart(shown, flags) : ''
      const cells = items.map((item) => cellsOf(item, shown, flags))
      return start + toCsv(cells, flags)
    }
    const textOf = (field: string, value: unknown) =>
      isTime(field, value) ? timeText(value, 'table', flags.utc) : (names?.get(toText(value)) ?? toText(value))
    const rows = items.map((item) => shown.map((field) => textOf(field, valueAt(item, field))))
    const headers = shown.map((field) => (field === assigneeField && names !== undefined ? 'assignee' : field))
    const start = table === undefined
    table ??= createTable([headers, ...rows], { width, canDrop: fields === undefined })
    return table(start ? [headers, ...rows] : rows)
  }
}

const widest = 40
const narrowest = 8
/** The number of columns of a table that goes to no terminal. */
const usualColumns = 5

/**
 * Returns a function that prints rows in columns, whose widths are those of the first rows. Columns that do not fit are
 * left out from the end if they can be dropped. Otherwise the widest ones are cut; an id is cut last.
 */
function createTable(
  first: readonly (readonly string[])[],
  { width = Number.POSITIVE_INFINITY, canDrop }: { width?: number | undefined; canDrop: boolean },
) {
  const cells = first.map((row) => row.map((text) => printable(oneLine(text))))
  const headers = cells[0] ?? []
  const natural = headers.map((_, index) =>
    Math.min(widest, Math.max(...cells.map((row) => widthOf(row[index] ?? '')))),
  )
  const totalOf = (widths: readonly number[]) => widths.reduce((sum, each) => sum + each + 2, -2)
  let count = canDrop && width === Number.POSITIVE_INFINITY ? Math.min(usualColumns, natural.length) : natural.length
  while (canDrop && count > 1 && totalOf(natural.slice(0, count)) > width) count -= 1
  const widths = natural.slice(0, count)
  while (totalOf(widths) > width) {
    const candidates = widths.filter((_, index) => headers[index] !== 'id')
    const most = Math.max(...candidates)
    if (candidates.length === 0 || most <= narrowest) break
    const index = widths.findIndex((each, at) => each === most && headers[at] !== 'id')
    widths[index] = most - 1
  }
  return (rows: readonly (readonly string[])[]) =>
    rows
      .map((row) => widths.map((most, index) => fitted(printable(oneLine(row[index] ?? '')), most)).join('  '))
      .map((line) => `${line.trimEnd()}\n`)
      .join('')
}

/** Cuts a text between two characters as people see them, or pads it. */
function fitted(text: string, width: number): string {
  const full = widthOf(text)
  if (full <= width) return text + ' '.repeat(width - full)
  let cut = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (widthOf(cut + segment) > width - 1) break
    cut += segment
  }
  return `${cut}…${' '.repeat(Math.max(0, width - widthOf(cut) - 1))}`
}

/** Shows rows: JSON lines, lines of cells, and on a terminal a table with a header. */
export async function showRows(
  headers: readonly string[],
  rows: readonly { readonly value: unknown; readonly cells: readonly string[] }[],
  terminal: Terminal,
): Promise<void> {
  const { stdout } = terminal.io
  if (terminal.json || !stdout.isTTY) {
    for (const { value, cells } of rows) await terminal.show(value, cells.join('  '))
  } else if (rows.length > 0) {
    const all = [headers, ...rows.map(({ cells }) => cells)]
    await terminal.print(createTable(all, { width: stdout.columns ?? 80, canDrop: false })(all))
  }
}

/** Returns an item with some of its fields only. */
export function pick(item: unknown, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, valueAt(item, field)]))
}
