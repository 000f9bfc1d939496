import { toDate, type User } from 'support-workspace-sdk'
import { element } from './elements.ts'

export function nameOf(user: User | null | undefined): string {
  return user?.name ?? user?.email ?? 'Somebody'
}

export function initialOf(user: User | null | undefined): string {
  return [...nameOf(user)][0]?.toUpperCase() ?? '?'
}

const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const minutes = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** A timestamp of the service, in the reader's own time zone. */
export function time(seconds: number | null | undefined, precision: 'day' | 'minute'): HTMLTimeElement {
  const date = toDate(seconds)
  const format = precision === 'day' ? days : minutes
  return element('time', { dateTime: date?.toISOString() ?? '' }, date === undefined ? '' : format.format(date))
}
