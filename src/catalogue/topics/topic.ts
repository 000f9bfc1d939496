import type { Statement } from '../fact.ts'

/** What is known about one subject, in the order of `docs/service.md`. */
export interface Topic {
  readonly title: string
  /** What comes first, in Markdown. */
  readonly intro: string
  readonly facts: readonly Statement[]
  /** What no source tells, in Markdown. */
  readonly unknown: readonly string[]
  /** The operations that it is about: what stands before the dot of their ids. */
  readonly resource?: string
  /** What to do about it, in Markdown. */
  readonly advice: string
}

type Parts = Partial<Omit<Topic, 'title'>>

export function topic(title: string, { intro = '', facts = [], unknown = [], advice = '', ...rest }: Parts): Topic {
  return { title, intro, facts, unknown, advice, ...rest }
}
