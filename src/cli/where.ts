// `list --where` filters the items that were read, because the documents of the service have no filters.

import { usage } from './errors.ts'
import { isTime, valueAt } from './format.ts'

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
  return (isUtc) => ({ field, matches: (item) => compare(field, operator, valueAt(item, field), value, isUtc) })
}

function compare(field: string, operator: string, found: unknown, value: string, isUtc: boolean | undefined): boolean {
  if (operator === '!=') return !compare(field, '=', found, value, isUtc)
  if (found === null || found === undefined) return operator === '=' && value === ''
  const day = isTime(field, found) ? dayOf(value, isUtc) : undefined
  if (day !== undefined && isTime(field, found)) {
    if (operator === '=') return found >= day.start && found < day.end
    return operator === '<' ? found < day.start : found > day.start
  }
  if (operator === '=') return String(found) === value
  const text = String(found)
  const order =
    typeof found === 'number' ? found - Number(value || Number.NaN) : text < value ? -1 : Number(text > value)
  return operator === '<' ? order < 0 : order > 0
}

/** Returns the first second of a day and of the next one. */
function dayOf(text: string, isUtc: boolean | undefined): { start: number; end: number } | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return undefined
  const at = (date: number) =>
    (isUtc ? Date.UTC(year, month - 1, date) : new Date(year, month - 1, date).getTime()) / 1_000
  const shown = isUtc ? new Date(at(day) * 1_000).getUTCDate() : new Date(at(day) * 1_000).getDate()
  if (shown !== day) throw usage(`--where has ${text}, which is no day.`, 'Pass a date such as 2026-11-19.')
  return { start: at(day), end: at(day + 1) }
}
