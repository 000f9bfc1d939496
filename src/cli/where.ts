// `list --where` filters the items that were read, because the documents of the service have no filters.

import { usage } from './errors.ts'
import { isTime, toText, valueAt } from './format.ts'

/** A condition such as `status=open`. */
export interface Condition {
  readonly field: string
  matches(item: unknown): boolean
}

/** Reads a condition: `=`, `!=`, `<` or `>` between a field and a value. An empty value means null. */
export function readCondition(text: string): (isUtc: boolean | undefined) => Condition {
  const [, field = '', operator = '', value = ''] = /^([^=!<>\s]+)(!=|=|<|>)(.*)$/s.exec(text) ?? []
  if (field === '' || (value === '' && /[<>]/.test(operator)) || /^[=<>]/.test(value)) {
    throw usage(
      `--where ${JSON.stringify(text)} is not a condition.`,
      "Pass FIELD=VALUE, FIELD!=VALUE, FIELD<VALUE or FIELD>VALUE in quotes, such as 'status=open'.",
    )
  }
  return (isUtc) => {
    if (field.endsWith('_at') && !/^(\d+)?$/.test(value)) dayOf(value, isUtc)
    return { field, matches: (item) => compare(field, operator, valueAt(item, field), value, isUtc) }
  }
}

function compare(field: string, operator: string, found: unknown, value: string, isUtc: boolean | undefined): boolean {
  if (operator === '!=') return !compare(field, '=', found, value, isUtc)
  if (found === null || found === undefined) return operator === '=' && value === ''
  if (isTime(field, found) && value.includes('-')) {
    const day = dayOf(value, isUtc)
    if (operator === '=') return found >= day.start && found < day.end
    return operator === '<' ? found < day.start : found > day.start
  }
  const text = toText(found)
  if (operator === '=') return text === value
  const order =
    typeof found === 'number' ? found - Number(value || Number.NaN) : text < value ? -1 : Number(text > value)
  return operator === '<' ? order < 0 : order > 0
}

/** Returns the first second of a day and of the next one. */
function dayOf(text: string, isUtc: boolean | undefined): { start: number; end: number } {
  const [, year = 0, month = 0, day = 0] = /^(\d{4})-(0\d|1[0-2])-(\d\d)$/.exec(text)?.map(Number) ?? []
  const at = (date: number) =>
    (isUtc ? Date.UTC(year, month - 1, date) : new Date(year, month - 1, date).getTime()) / 1_000
  const shown = isUtc ? new Date(at(day) * 1_000).getUTCDate() : new Date(at(day) * 1_000).getDate()
  // The day 0 is the last one of the month before.
  if (month === 0 || shown !== day)
    throw usage(
      `--where has ${text}, which is neither a day nor epoch seconds.`,
      'Pass a date such as 2026-11-19, or epoch seconds.',
    )
  return { start: at(day), end: at(day + 1) }
}
