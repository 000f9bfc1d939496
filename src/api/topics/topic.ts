import type { Statement } from '../fact.ts'

/** The facts about a subject. `docs/service.md` has the topics in the same order. */
export interface Topic {
  /** The heading, for example `Paging`. */
  readonly title: string
  /** Markdown before the facts. */
  readonly intro: string
  /** The facts that sources tell, or that are inferred from them. */
  readonly facts: readonly Statement[]
  /** The questions that no source answers, in Markdown. */
  readonly unknown: readonly string[]
  /** The resource of its operations, which is the part before the dot of their ids, for example `contacts`. */
  readonly resource?: string
  /** Advice for users, in Markdown. */
  readonly advice: string
}

type Parts = Partial<Omit<Topic, 'title'>>

export function topic(title: string, { intro = '', facts = [], unknown = [], advice = '', ...rest }: Parts): Topic {
  return { title, intro, facts, unknown, advice, ...rest }
}
