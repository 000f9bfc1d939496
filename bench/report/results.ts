import { peerNames } from '../contestants.ts'
import type { SuiteLetter } from '../options.ts'
import type { Figure } from '../statistics.ts'
import type { Row } from '../suites/suite.ts'

/** The content of `results.json`. */
export interface Results {
  /** Day of the run, as `2026-01-31`. */
  readonly date: string
  readonly command: string
  /** Duration of the run, in seconds. */
  readonly seconds: number
  readonly node: string
  readonly cpu: string
  /** Version of each SDK, by package name. */
  readonly packages: Readonly<Record<string, string>>
  /** Rows of each suite, by its letter. */
  readonly suites: Readonly<Record<SuiteLetter, readonly Row[]>>
}

/** The result of one SDK. */
export interface Result extends Figure {
  readonly name: string
}

/** Which results to select. */
export interface Selection {
  readonly suite: SuiteLetter
  readonly setting: string
  readonly value: string
}

/** Returns the results of every SDK with its default options, lowest first. */
export function selectResults({ suites }: Results, { suite, setting, value }: Selection): Result[] {
  const rows = suites[suite].filter((row) => row.setting === setting)
  return peerNames
    .map((name): Result => {
      const figure = rows.find((row) => row.name === name)?.values[value]
      if (figure === undefined)
        throw new Error(`results.json has no ${value} of ${name} in suite ${suite}, ${setting}.`)
      return { name, ...(typeof figure === 'number' ? { median: figure, q1: figure, q3: figure } : figure) }
    })
    .sort((a, b) => a.median - b.median)
}

/**
 * Whether other work on the machine distorted the times. All of the SDKs call `fetch`, so a time far below that of bare
 * `fetch` cannot be right.
 */
export function isDistorted({ suites }: Pick<Results, 'suites'>): boolean {
  return [...suites.a, ...suites.b, ...suites.d, ...suites.h].some(({ values: { ratio } }) => {
    return typeof ratio === 'object' && ratio.median < 0.9
  })
}
