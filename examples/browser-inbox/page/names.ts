import { toDate, type User } from 'support-workspace-sdk'
import { element } from './elements.ts'

export function nameOf(user: User | null | undefined): string {
  return user?.name ?? user?.email ?? 'Unknown'
}

export function initialOf(user: User | null | undefined): string {
  return [...nameOf(user)][0]?.toUpperCase() ?? '?'
}

/** Returns text that wraps after the `@` and before the dots of an email address, not inside a word. */
export function breakable(text: string): (Node | string)[] {
  return text.split(/(?<=@)|(?=[.])/).flatMap((piece, index) => (index === 0 ? [piece] : [element('wbr', {}), piece]))
}

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/**
 * Shows a timestamp of the service in the reader's time zone. `short` is the time for today and the date for other
 * days.
 */
export function time(seconds: number | null | undefined, length: 'short' | 'long'): HTMLTimeElement {
  const date = toDate(seconds)
  if (date === undefined) return element('time', {})
  const isToday = date.toDateString() === new Date().toDateString()
  const format = length === 'long' ? dayAndTime : isToday ? timeOfDay : day
  return element('time', { dateTime: date.toISOString(), title: dayAndTime.format(date) }, format.format(date))
}
