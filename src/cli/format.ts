import { stringify } from 'csv-stringify/sync'
import widthOf from 'fast-string-width'
import { isObject } from '../shared/json.ts'
import { listOf } from './options.ts'
import { oneLine, printable, type Terminal } from './terminal.ts'

/** How rows are written. */
export interface FormatFlags {
  readonly format?: Format | undefined
  readonly fields?: readonly string[] | undefined
  readonly raw?: boolean | undefined
}

export type Format = 'table' | 'ndjson' | 'json' | 'csv'

/** Notes the fields that no item of the first page has, because one may be misspelled. */
export function noteUnseen({ fields = [] }: FormatFlags, items: readonly unknown[], terminal: Terminal): void {
  for (const field of fields.filter((each) => items.every((item) => valueAt(item, each) === undefined))) {
    terminal.note(`No item of the first page has the field ${field}.`, { field })
  }
}

/** The fields of a kind in tables and CSV. The documents do not name the fields of tasks and segments. */
export const knownFields: Readonly<Record<string, readonly string[]>> = {
  conversations: listOf(
    `id status user.name user.email inserted_at last_message_inserted_at conversation_assignee.user_id group.name is_spam
     pinned unread_count initial_message last_message summary user.id`,
  ),
  messages: listOf('id inserted_at user.name user.email body_html conversation_id user.id source is_ai_message'),
  notes: listOf('id inserted_at user.name user.email body_html conversation_id user.id source is_ai_message'),
  contacts: listOf('id user.name user.email inserted_at active_at updated_at source blocked starred active user.id'),
  members: listOf('id role user.name user.email archived user.id'),
}

/** Returns rows as CSV. NDJSON is the exact form: CSV is for spreadsheets, where a text must not act as a formula. */
export function toCsv(rows: readonly (readonly unknown[])[], isRaw = false): string {
  // Some programs skip a NUL, and then find a formula behind it.
  const toCell = (value: unknown) => (isRaw ? toText(value) : toText(value).replaceAll('\0', ''))
  const cells = rows.map((row) => row.map((value) => (typeof value === 'number' ? value : toCell(value))))
  return stringify(cells, { escape_formulas: !isRaw, record_delimiter: '\n' })
}

/** Returns the value at a path such as `user.email`. */
export function valueAt(item: unknown, field: string): unknown {
  return field.split('.').reduce((value: unknown, name) => {
    return isObject(value) && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
  }, item)
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Returns a function that formats one page of a list after the other, and once more with undefined at the end. */
export function createFormatter(format: Format, kind: string, { fields, raw }: FormatFlags) {
  let columns: readonly string[] | undefined
  let widths: readonly number[] | undefined
  return (items: readonly unknown[] | undefined): string => {
    const isFirst = columns === undefined
    if (items === undefined) return format !== 'json' ? '' : isFirst ? '[]\n' : '\n]\n'
    if (items.length === 0) return ''
    const known = format === 'table' ? knownFields[kind]?.slice(0, 5) : knownFields[kind]
    const shown = columns ?? fields ?? known ?? Object.keys(Object(items[0]))
    columns = shown
    const lines = items.map((item) => JSON.stringify(fields === undefined ? item : pick(item, fields)))
    if (format === 'ndjson') return `${lines.join('\n')}\n`
    if (format === 'json') return `${isFirst ? '[\n' : ',\n'}${lines.join(',\n')}`
    const rows = [...(isFirst ? [shown] : []), ...items.map((item) => shown.map((field) => valueAt(item, field)))]
    if (format === 'csv') return toCsv(rows, raw)
    const texts = rows.map((row) => row.map((value) => shorten(toText(value))))
    widths ??= shown.map((_, index) => Math.max(...texts.map((row) => widthOf(row[index] ?? ''))))
    const pad = (text: string, index: number) => text + ' '.repeat(Math.max(0, (widths?.[index] ?? 0) - widthOf(text)))
    return texts.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('')
  }
}

/** Returns an item with some of its fields only. */
export function pick(item: unknown, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, valueAt(item, field)]))
}

function shorten(text: string): string {
  const line = printable(oneLine(text))
  return line.length > 40 ? `${line.slice(0, 39)}…` : line
}
