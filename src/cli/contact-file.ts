import { isUtf8 } from 'node:buffer'
import { type CsvError, parse } from 'csv-parse/sync'
import { CommandError, usage } from './errors.ts'

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
export type FailedRow = readonly [row: ContactRow, reason: string]

/** A file with contacts. */
export interface ContactFile {
  readonly rows: readonly ContactRow[]
  /** Returns rows as a file that can be imported again, with why they failed in the column `reason`. */
  withReasons(failed: readonly FailedRow[]): string
}

/** What `csv-parse` returns with `raw` and `info`. */
interface Parsed {
  readonly record: readonly string[]
  readonly raw: string
  /** How many bytes end with this row. Its number of lines counts CRLF in quotes twice. */
  readonly info: { readonly bytes: number }
}

/** The column that a file of failed rows has. */
const reasonColumn = 'reason'

/**
 * Reads a CSV file: with `,` or `;`, with or without a byte order mark, and with line breaks in quotes.
 *
 * @param map the fields of columns that are not called `email` or `name`; an empty one leaves the column out
 */
export function readContacts(bytes: Buffer, map: Readonly<Record<string, string>>): ContactFile {
  checkUtf8(bytes)
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  const [firstLine = ''] = text.split('\n', 1)
  const separators = firstLine.replace(/"[^"]*"/g, '')
  const delimiter = separators.split(';').length > separators.split(',').length ? ';' : ','
  const [header, ...rest] = parseRows(text, delimiter)
  const names = header?.record.map((name) => name.trim()) ?? []
  const hasReason = names.at(-1)?.toLowerCase() === reasonColumn
  const fields = fieldsOf(hasReason ? names.slice(0, -1) : names, map)
  const rawOf = ({ raw, record }: Parsed): string => {
    const own = raw.replace(/^[\r\n]+|[\r\n]+$/g, '')
    if (!hasReason) return own
    const reason = record.at(-1) ?? ''
    const end = [quoted(reason), reason].find((each) => own.endsWith(delimiter + each)) ?? ''
    return own.slice(0, -delimiter.length - end.length)
  }
  const lineAt = createLineCounter(text)
  const rows = rest.map((parsed): ContactRow => {
    const values = fields.map((field, index) => [field, parsed.record[index]?.trim() ?? ''] as const)
    const given = Object.fromEntries(values.filter(([field, value]) => field !== '' && value !== ''))
    const line = lineAt(parsed.info.bytes)
    return { line, raw: rawOf(parsed), fields: given, email: given.email?.toLowerCase() ?? '' }
  })
  const columns = `${header === undefined ? '' : rawOf(header)}${delimiter}${reasonColumn}\n`
  const lineOf = ([{ raw }, reason]: FailedRow) => `${raw}${delimiter}${quoted(reason)}\n`
  return { rows, withReasons: (failed) => columns + failed.map(lineOf).join('') }
}

function quoted(value: string): string {
  return `"${value.replaceAll('"', '""')}"`
}

function checkUtf8(bytes: Buffer): void {
  if (isUtf8(bytes)) return
  // Latin-1 has a character for each byte.
  const lines = bytes.toString('latin1').split('\n')
  const line = lines.findIndex((text) => !isUtf8(Buffer.from(text, 'latin1'))) + 1
  throw new CommandError(70, `Line ${line} is not UTF-8.`, 'Save the file as "CSV UTF-8", then import it again.')
}

/** Returns a function that returns the line at which a number of bytes ends. It is called with growing numbers. */
function createLineCounter(text: string): (bytes: number) => number {
  const all = Buffer.from(text)
  let position = 0
  let breaks = 0
  return (bytes) => {
    // Latin-1 has a character for each byte.
    const part = all.toString('latin1', position, bytes)
    position = bytes
    breaks += part.match(/\r\n|\r|\n/g)?.length ?? 0
    return /[\r\n]$/.test(part) ? breaks : breaks + 1
  }
}

function parseRows(text: string, delimiter: string): Parsed[] {
  try {
    // Its types do not know what `raw` and `info` return.
    return parse(text, { delimiter, raw: true, info: true, skip_empty_lines: true }) as unknown as Parsed[]
  } catch (thrown) {
    const { message, bytes = 0 } = thrown as CsvError & { bytes?: number }
    const line = createLineCounter(text)(bytes)
    throw new CommandError(70, `Line ${line} is not CSV: ${message.split(':')[0]}.`, 'Correct the file.')
  }
}

/** Returns the field of each column; an empty one for a column that is left out. */
function fieldsOf(names: readonly string[], map: Readonly<Record<string, string>>): string[] {
  const absent = Object.keys(map).find((name) => !names.includes(name))
  if (absent !== undefined) throw usage(`There is no column "${absent}".`, `There are: ${names.join(', ')}.`)
  const known = (name: string) => ['email', 'name'].find((each) => each === name.toLowerCase())
  const fields = names.map((name) => (Object.hasOwn(map, name) ? map[name] : known(name)))
  const unknown = names.filter((_, index) => fields[index] === undefined)
  if (unknown.length > 0) {
    const hint = `Pass --map '${unknown[0]}=FIELD' for each, with a field of the service, or nothing to leave the column out.`
    throw usage(`It is not known what these columns are: ${unknown.join(', ')}.`, hint)
  }
  const given = fields as string[]
  const twice = given.find((field, index) => field !== '' && given.indexOf(field) !== index)
  if (twice !== undefined) throw usage(`Two columns are the field ${twice}.`, `Leave one out: --map 'COLUMN='.`)
  if (given.includes('email')) return given
  throw usage('No column is the address.', "Name one `email`, or pass --map 'COLUMN=email'.")
}
