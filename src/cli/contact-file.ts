import { type CsvError, parse } from 'csv-parse/sync'
import { CommandError, inQuotes, usage } from './errors.ts'

/** A row of a file with contacts. */
export interface ContactRow {
  /** The line that it ends at, from 1. */
  readonly line: number
  /** Its own text, without a `reason` of an earlier import. */
  readonly raw: string
  /** The values of the columns that are imported, by the name of the field. Empty ones are left out. */
  readonly fields: Readonly<Record<string, string>>
  /** The address as it is compared: trimmed, in lower case. */
  readonly email: string
}

/** A row, and why it failed. */
export type FailedRow = readonly [row: Pick<ContactRow, 'line' | 'raw'>, reason: string]

/** A file with contacts. */
export interface ContactFile {
  readonly rows: readonly ContactRow[]
  readonly broken: readonly BrokenRow[]
  /** The fields that the columns are. */
  readonly fields: readonly string[]
  /** Returns rows as a file that can be imported again, with why they failed in the column `reason`. */
  withReasons(failed: readonly FailedRow[]): string
}

/** What `csv-parse` returns with `raw` and `info`. */
interface Parsed {
  readonly record: readonly string[]
  readonly raw: string
  /** The line that it ends at, from 1. */
  readonly line: number
}

/** A column of the file. */
interface Column {
  readonly name: string
  /** Its place, from 1. */
  readonly number: number
  /** Whether no row has a value there. */
  readonly isEmpty: boolean
}

/** A line of a row that is not CSV, or a row with another number of cells than the header. */
export interface BrokenRow {
  readonly line: number
  readonly raw: string
  readonly reason: string
}

/** In a map, all columns that are not named. */
const rest = '*'

/** The first column of a file of failed rows. At the end, it would be in another place in a row that is too short. */
const reasonColumn = 'reason'

/**
 * Reads a CSV file: with `,`, `;` or a tab, with or without a first line `sep=;`, and with line breaks in quotes. Line
 * breaks can be LF, CRLF and CR in one file, and are LF in the values.
 *
 * @param map the fields of columns that are not called `email` or `name`; an empty one leaves the column out
 * @param skipBroken whether rows that are not CSV are returned with the others, instead of an error
 */
export function readContacts(given: string, map: Readonly<Record<string, string>>, skipBroken = false): ContactFile {
  const text = `${given.replace(/\r\n?/g, '\n')}\n`
  const [start = '', told] = /^"?sep=(.)"?\n/.exec(text) ?? []
  const [firstLine = ''] = text.slice(start.length).split('\n', 1)
  const separators = firstLine.replace(/"[^"]*"/g, '')
  const most = [',', ';', '\t'].sort((a, b) => separators.split(b).length - separators.split(a).length)
  const delimiter = told ?? most[0] ?? ','
  const { rows: parsed, broken } = parseRows(text.slice(start.length), delimiter, start === '' ? 0 : 1)
  const [header, ...body] = parsed
  if (header === undefined && broken.length === 0)
    throw new CommandError(70, 'The file is empty.', 'It needs a header.')
  const names = header?.record.map((name) => name.trim()) ?? []
  const hasReason = names[0]?.toLowerCase() === reasonColumn
  const cellsOf = ({ record }: Parsed) => (hasReason ? record.slice(1) : record)
  const columns = (hasReason ? names.slice(1) : names).map((name, index): Column => {
    return { name, number: index + 1, isEmpty: body.every((row) => (cellsOf(row)[index] ?? '').trim() === '') }
  })
  const firstCell = RegExp(`^("([^"]|"")*"|[^"${delimiter}]*)${delimiter}`)
  const rawOf = (raw: string): string => {
    const own = raw.replace(/^\n+|\n+$/g, '')
    return hasReason ? own.replace(firstCell, '') : own
  }
  const isWrong = (row: Parsed) => row.record.length !== names.length
  const wrong = body.filter(isWrong).map((row): BrokenRow => {
    const { length } = cellsOf(row)
    const cells = length === 1 ? '1 cell' : `${length} cells`
    return { line: row.line, raw: row.raw, reason: `The row has ${cells}, and the header has ${columns.length}.` }
  })
  const all = [...broken, ...wrong]
    .map((row) => ({ ...row, raw: rawOf(row.raw) }))
    .sort((one, other) => one.line - other.line)
  if (all.length > 0 && !skipBroken) throw brokenRows(all)
  const fields = fieldsOf(columns, map)
  const good = body.filter((row) => !isWrong(row) && cellsOf(row).some((cell) => cell.trim() !== ''))
  const rows = good.map((row): ContactRow => {
    const values = fields.map((field, index) => [field, cellsOf(row)[index]?.trim() ?? ''] as const)
    const given = Object.fromEntries(values.filter(([field, value]) => field !== '' && value !== ''))
    return { line: row.line, raw: rawOf(row.raw), fields: given, email: given.email?.toLowerCase() ?? '' }
  })
  const first = `${reasonColumn}${delimiter}${header === undefined ? '' : rawOf(header.raw)}\n`
  const lineOf = ([{ raw }, reason]: FailedRow) => `${quoted(reason)}${delimiter}${raw}\n`
  return {
    rows,
    broken: all,
    fields: fields.filter(Boolean),
    withReasons: (failed) => first + failed.map(lineOf).join(''),
  }
}

function quoted(value: string): string {
  return `"${value.replaceAll('"', '""')}"`
}

/** @param before number of lines in front of the text */
function parseRows(text: string, delimiter: string, before: number): { rows: Parsed[]; broken: BrokenRow[] } {
  const reasons = new Map<number, string>()
  const options = {
    ...{ delimiter, raw: true, info: true, skip_empty_lines: true, relax_column_count: true },
    ...{ record_delimiter: '\n', skip_records_with_error: true },
    on_skip(error: (CsvError & { lines?: number }) | undefined) {
      reasons.set(error?.lines ?? 0, `The row is not CSV: ${error?.message.split(':')[0] ?? 'it cannot be read'}.`)
      return undefined
    },
  }
  // Its types do not know what `raw` and `info` return.
  const parsed = parse(text, options) as unknown as (Omit<Parsed, 'line'> & { info: { lines: number } })[]
  const lines = text.split('\n')
  const broken: BrokenRow[] = []
  // What is between two rows was skipped: a quote that is not closed takes the lines below it with it.
  const skip = (from: number, to: number) => {
    const reason = [...reasons].find(([line]) => line > from)?.[1] ?? 'The row is not CSV.'
    for (let at = from; at < to; at += 1)
      if (lines[at] !== '') broken.push({ line: at + 1 + before, raw: String(lines[at]), reason })
  }
  let last = 0
  const rows = parsed.map(({ record, raw, info }): Parsed => {
    skip(last, info.lines - raw.split('\n').length + 1)
    last = info.lines
    return { record, raw, line: last + before }
  })
  skip(last, lines.length - 1)
  return { rows, broken }
}

const shownRows = 20

function brokenRows(all: readonly BrokenRow[]): CommandError {
  const lines = all.slice(0, shownRows).map(({ line, reason }) => `  Line ${line}: ${reason}`)
  const more = all.length > shownRows ? [`  … and ${all.length - shownRows} others`] : []
  const what = all.length === 1 ? '1 row is' : `${all.length} rows are`
  const hint = 'Correct the file. Or pass --skip-broken to import the others, and --failed FILE to keep these.'
  return new CommandError(70, [`${what} broken:`, ...lines, ...more].join('\n'), `\n${hint}`)
}

/** Returns the field of each column; an empty one for a column that is left out. */
function fieldsOf(columns: readonly Column[], map: Readonly<Record<string, string>>): string[] {
  const isNamed = (key: string) =>
    key === rest || columns.some(({ name, number }) => key === name || key === `#${number}`)
  const absent = Object.keys(map).find((key) => !isNamed(key))
  const names = columns.map(({ name, number }) => (name === '' ? `#${number}` : name))
  if (absent !== undefined) throw usage(`There is no column "${absent}".`, `There are: ${names.join(', ')}.`)
  const known = (name: string) => ['email', 'name'].find((each) => each === name.toLowerCase())
  const fields = columns.map(({ name, number, isEmpty }) => {
    const key = [name, `#${number}`].find((each) => each !== '' && Object.hasOwn(map, each))
    // A spreadsheet often leaves an empty column at the end.
    return key !== undefined ? map[key] : (known(name) ?? (name === '' && isEmpty ? '' : map[rest]))
  })
  const unknown = names.filter((_, index) => fields[index] === undefined)
  if (unknown.length > 0) {
    const hint = `Pass --map ${inQuotes(`${unknown[0]}=FIELD`)} for each with a field of the service, or --map '*=' to leave them out.`
    throw usage(`It is not known what these columns are: ${unknown.join(', ')}.`, hint)
  }
  const given = fields as string[]
  const at = given.findIndex((field, index) => field !== '' && given.indexOf(field) !== index)
  if (at !== -1) {
    const hint = `Leave one out: --map ${inQuotes(`${names[at]}=`)}`
    throw usage(`Two columns are the field ${given[at]}.`, hint)
  }
  if (given.includes('email')) return given
  throw usage('No column is the address.', "Name one email, or pass --map 'COLUMN=email'.")
}
