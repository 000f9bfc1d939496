import { describeError } from './describe-error.ts'
import { definitionOf } from './faults.ts'
import type { Run } from './run.ts'
import type { Baseline } from './run-without-faults.ts'
import type { NamedWrite } from './writes.ts'

/**
 * The kind of a problem:
 *
 * - `doubled`: a write was applied more often than in a run without faults.
 * - `lost`: a write or an output is missing, although the job was done.
 * - `extra`: a write or an output is there that a run without faults does not have.
 * - `stuck`: the job gave up, although its last call met no fault.
 * - `never-ends`: the job had to be stopped.
 * - `unhandled`: the job left an error unhandled.
 * - `unseen`: the job sent a message although the customer or a colleague had written, and the job had not read that.
 * - `check`: the option `check` threw.
 */
export type JudgementName = 'doubled' | 'lost' | 'extra' | 'stuck' | 'never-ends' | 'unhandled' | 'unseen' | 'check'

/** A problem of a run. */
export interface Judgement {
  /** The kind of the problem, for example `doubled`. */
  readonly name: JudgementName
  /** The description of the problem, in one sentence. */
  readonly text: string
  /**
   * The operation, file or error that the problem is about. Judgements with the same name and subject have the same
   * cause.
   */
  readonly subject: string
}

/** Returns all problems of a run. */
export function judge(baseline: Baseline, run: Run): Judgement[] {
  const isDone = run.end === 'done'
  const { pause, change } = definitionOf(run.injected)
  return [
    ...judgeWrites(baseline, run, isDone),
    // The lists that the job reads can be different after a long pause, or after a change by a colleague or the
    // customer.
    ...(isDone && pause === undefined && change === undefined ? judgeOutputs(baseline, run) : []),
    ...judgeUnseen(run),
    ...judgeEnd(run),
  ]
}

function judgeWrites({ run: clean, variable }: Baseline, run: Run, isDone: boolean): Judgement[] {
  const judgements: Judgement[] = []
  const { expectsLost, expectsExtra, expectsAgain } = expectationsOf(run)
  const targets = new Set([...clean.writes, ...run.writes].map(({ target }) => target))
  for (const target of targets) {
    const expected = clean.writes.filter((write) => write.target === target)
    const actual = run.writes.filter((write) => write.target === target)
    const [sample] = [...actual, ...expected]
    if (sample === undefined) continue
    const report = (name: JudgementName, what: string): void => {
      judgements.push({ name, subject: target.split(' ')[0] ?? '', text: `${target} ${what}.` })
    }
    const mayLack = !isDone || expectsLost(sample)
    // A job can skip a change whose effect is already there.
    const isThere = expected.every((write) => !write.creates && run.contentOf(write) === write.content)
    if (actual.length === 0 && !mayLack && !isThere) {
      report('lost', 'was never applied, although the job said that it was done')
    }
    if (actual.length === 0 || !sample.creates) continue
    if (expected.length === 0) {
      if (!expectsExtra)
        report('extra', `was applied, but a run without faults does not apply it: ${shorten(sample.content)}`)
      continue
    }
    const isVariable = variable.has(target)
    const contents = [expected, actual].map((writes) => writes.map(({ content }) => content))
    const [wanted = [], found = []] = isVariable ? [] : contents
    const [missing, left] = [without(wanted, found), without(found, wanted)]
    const surplus = actual.length - expected.length
    // An item whose text no run without faults has counts as a replacement for a missing item. A second item with the
    // same text does not.
    const replaced = left.filter((content) => !wanted.includes(content)).length
    // Where every run has another text, a second one in the same conversation can only be told by its number.
    const isNew = isVariable ? sample.place.length === 1 : left.length === replaced
    const mayBeAgain = expectsAgain(sample) || (expectsExtra && isNew)
    if (surplus > 0 && !mayBeAgain) {
      const which = left[0] ?? actual.at(-1)?.content
      report('doubled', `was applied ${actual.length} times instead of ${expected.length}: ${shorten(which)}`)
    }
    const lacking = isVariable ? -surplus : missing.length - replaced
    if (surplus <= 0 && left.length > replaced) report('doubled', `was applied twice: ${shorten(left[0])}`)
    if (lacking > 0 && !mayLack) {
      report(
        'lost',
        `lacks ${lacking} of ${expected.length}, although the job said that it was done: ${shorten(missing[0])}`,
      )
    }
  }
  return judgements
}

/**
 * Returns which writes can be missing, be more than in the run without faults, or be there twice after a long pause, or
 * after a change by a colleague or the customer.
 */
function expectationsOf({ injected, writes }: Run) {
  const { pause, change, kills } = definitionOf(injected)
  const isLate = pause !== undefined
  const isChanged = change !== undefined
  const isAnswered = injected?.fault === 'message-received' || injected?.fault === 'customer-writes'
  // A job that lives can look before each message, and leave it out.
  const canSkip = isChanged && !kills
  const parentOf = ({ place }: NamedWrite): string => place.slice(0, 2).join('/')
  // A job must finish an item that it has begun, even if the list that the job reads has the item no longer.
  const begun = new Set(writes.filter(({ creates }) => creates).map(parentOf))
  return {
    expectsLost(write: NamedWrite): boolean {
      if (isLate || injected?.fault === 'item-removed' || (canSkip && write.place[2] === 'messages')) return true
      return isChanged && !(write.creates && write.place.length > 1 && begun.has(parentOf(write)))
    },
    expectsExtra: isLate || isChanged,
    // The job can answer the customer's new message as well.
    expectsAgain: ({ place }: NamedWrite) => isAnswered && place.length > 1,
  }
}

/** Returns the difference of two multisets: each of the other texts removes one equal text. */
function without(texts: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const text of others) counts.set(text, (counts.get(text) ?? 0) + 1)
  return texts.filter((text) => {
    const count = counts.get(text) ?? 0
    counts.set(text, count - 1)
    return count <= 0
  })
}

/**
 * Compares the content of the state or the files with the run without faults, in any order. Reports what is missing or
 * repeated.
 */
function judgeOutputs({ run: clean, variable }: Baseline, run: Run): Judgement[] {
  return [...clean.outputs].flatMap(([name, lines]): Judgement[] => {
    const [wanted = [], found = []] = [lines, run.outputs.get(name) ?? []].map((all) =>
      variable.has(name) ? all.map(() => 'something') : all,
    )
    const left = without(found, wanted)
    const judgements = [
      ['lost', 'lacks', without(wanted, found)],
      ['doubled', 'has too often', left.filter((line) => wanted.includes(line))],
      ['extra', 'has, unlike after a run without faults,', left.filter((line) => !wanted.includes(line))],
    ] as const
    return judgements.flatMap(([judgement, what, found]) =>
      found.length === 0
        ? []
        : { name: judgement, subject: name, text: `${name} ${what} ${shorten(found.join(', '))}` },
    )
  })
}

function judgeUnseen({ what, unseen: [path], change }: Run): Judgement[] {
  if (path === undefined) return []
  const who = change?.fault.startsWith('colleague') ? 'a colleague' : 'the customer'
  const text = `A message was sent to ${path}, although ${who} had written there: the ${what} had not read that message.`
  return [{ name: 'unseen', subject: 'messages.create', text }]
}

function judgeEnd({ what, end, error, attempts, output, hasMetFault, checkError, uncaught }: Run): Judgement[] {
  const judgements: Judgement[] = []
  for (const thrown of uncaught.slice(0, 1)) {
    const { name, text } = describeError(thrown)
    const problem = `An error that nobody handled ends the process: ${shorten(text)}`
    judgements.push({ name: 'unhandled', subject: name, text: problem })
  }
  // In a real process, an unhandled error would have ended the job.
  if (end === 'never-ends' && uncaught.length === 0) {
    judgements.push({ name: 'never-ends', subject: '', text: `The ${what} never ended: it ${attempts.at(-1)}.` })
  }
  if ((end === 'fix' || end === 'gave-up') && !hasMetFault) {
    const { name, text: words } = describeError(error)
    const [subject = '', last] =
      what === 'job' ? [name, words] : [attempts.at(-1), `${attempts.at(-1)}: ${output.at(-1)}`]
    const text = `The last run met no fault, and yet the ${what} gave up with ${shorten(last)}`
    judgements.push({ name: 'stuck', subject, text })
  }
  if (checkError !== undefined) {
    const { text } = describeError(checkError.thrown)
    judgements.push({ name: 'check', subject: text.split('\n')[0] ?? '', text: `\`check\` failed: ${text}` })
  }
  return judgements
}

function shorten(text = ''): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
