import type { Statement } from '../fact.ts'

/** The facts about one subject. The topics are in the order of `docs/service.md`. */
export interface Topic {
  /** The title, for example `Paging`. */
  readonly title: string
  /** The text before the facts, in Markdown. Can be empty. */
  readonly intro: string
  /** The facts, each with its evidence and its sources. */
  readonly facts: readonly Statement[]
  /** Open questions that no source answers, in Markdown. */
  readonly unknown: readonly string[]
  /**
   * The resource whose operations belong to the topic: the part of their ids before the dot, for example `contacts`.
   */
  readonly resource?: string
  /** The advice after the facts, in Markdown. Can be empty. */
  readonly advice: string
}

type Parts = Partial<Omit<Topic, 'title'>>

export function topic(title: string, { intro = '', facts = [], unknown = [], advice = '', ...rest }: Parts): Topic {
  return { title, intro, facts, unknown, advice, ...rest }
}
