import { InvalidArgumentError } from '../errors/index.ts'
import { type Check, checkInteger, checkText, mustBe } from '../shared/check-options.ts'
import { randomFrom } from '../shared/random.ts'
import { canStrike, type FaultName, faultNames, faults, idOf, type Place, placeOf, type Strike } from './faults.ts'
import type { Run } from './run-job.ts'

/** Options that restrict which runs are made. See `FaultTestOptions`. */
export interface Selection {
  readonly faults?: readonly FaultName[] | undefined
  readonly requests?: readonly number[] | undefined
  readonly only?: readonly (readonly Strike[])[] | undefined
}

const everything = 'Leave it out to test everything.'

/** The checks of the options in `Selection`. */
export const selectionChecks = {
  faults: listOf(checkFault),
  requests: listOf((name, at) => checkInteger(name, at, 1, 'Requests count from 1.')),
  only: listOf(checkId),
}

/** Returns all places of a run where a fault can strike. */
function strikesOf(fault: FaultName, run: Run): Strike[] {
  const strikes = Array.from({ length: countOf(placeOf(fault), run) }, (_, index) => ({ fault, at: index + 1 }))
  return strikes.filter(({ at }) => canStrike(fault, run.requests, at))
}

function countOf(place: Place, { requests, counts }: Run): number {
  return place === 'request' ? requests.length : counts[place]
}

/** Returns the strikes of all runs with one fault: at requests, assignments and file writes. */
export function singlesOf(run: Run, { faults: chosen, requests }: Selection): Strike[] {
  const singles = faultNames.filter((name) => chosen?.includes(name) ?? true).flatMap((name) => strikesOf(name, run))
  return singles.filter(({ fault, at }) => placeOf(fault) !== 'request' || (requests?.includes(at) ?? true))
}

/** Yields every pair of faults once, in random order. The first fault of a pair passed as the only fault of its run. */
export function* pairsOf(firsts: readonly Run[], selection: Selection, seed: number): Generator<Strike[]> {
  const random = randomFrom(seed)
  function* pairsAfter(first: Run): Generator<Strike[], undefined> {
    const [strike] = first.strikes
    if (strike === undefined || faults[strike.fault].lasts) return
    const seconds = singlesOf(first, selection).filter((each) => canFollow(strike, each))
    while (seconds.length > 0) yield [strike, ...seconds.splice(Math.floor(random() * seconds.length), 1)]
  }
  const sources = firsts.map(pairsAfter)
  while (sources.length > 0) {
    const index = Math.floor(random() * sources.length)
    const pair = sources[index]?.next().value
    if (pair === undefined) sources.splice(index, 1)
    else yield pair
  }
}

/** Whether a strike can follow another in one run. Each place is struck once, and the places are struck in order. */
function canFollow(first: Strike, second: Strike): boolean {
  return placeOf(first.fault) !== placeOf(second.fault) || second.at > first.at
}

/** Throws if a fault or request of the selection has no place in a run without faults. */
export function checkSelection({ faults: chosen, requests }: Selection, run: Run): void {
  const fault = chosen?.find((name) => placeOf(name) === 'request') ?? 'unavailable'
  for (const at of requests ?? []) if (at > run.requests.length) throw neverStruck('requests', { fault, at }, run)
  for (const name of chosen ?? []) {
    if (strikesOf(name, run).length === 0) throw neverStruck('faults', { fault: name, at: 1 }, run)
  }
}

/** Throws if a strike of `only` did not happen in its run. Such a run passes although it tested nothing. */
export function checkStruck(run: Run): void {
  const missed = run.strikes.find(({ fault, at }) => !strikesOf(fault, run).some((strike) => strike.at === at))
  if (missed !== undefined) throw neverStruck('only', missed, run)
}

function neverStruck(option: keyof Selection, strike: Strike, run: Run): InvalidArgumentError {
  const place = placeOf(strike.fault)
  const count = countOf(place, run)
  const made = `the ${run.what} made ${count} ${place}${count === 1 ? '' : 's'}`
  const why = strike.at > count ? made : `no ${place} that it could strike was there`
  const hint = `Correct \`${option}\`, or leave it out to test everything.`
  return new InvalidArgumentError(option, `${idOf([strike])} never struck: ${why}.`, hint)
}

/** Returns the check of an option in `Selection`. */
function listOf<Item>(checkItem: Check<Item>): Check<readonly Item[]> {
  return (name, list) => {
    if (!Array.isArray(list)) throw mustBe('an array', name, list, everything)
    if (list.length === 0)
      throw new InvalidArgumentError(name, `\`${name}\` is empty, so nothing is tested.`, everything)
    return Array.from(list, (item, index) => checkItem(`${name}[${index}]`, item))
  }
}

/** Reads the id of a run. */
function checkId(name: string, id: unknown): readonly Strike[] {
  const hint = 'Pass the ids of runs, as a report names them: their faults strike one after another.'
  const parts = checkText(name, id).split('+')
  const strikes = parts.map((part) => {
    const [fault, at] = part.split('@')
    return { fault: checkFault(name, fault), at: checkInteger(name, Number(at), 1, hint) }
  })
  const isInOrder = strikes.every((each, index) => strikes.slice(0, index).every((first) => canFollow(first, each)))
  if (isInOrder && idOf(strikes) === id) return strikes
  throw new InvalidArgumentError(name, `"${id}" is not the id of a run.`, hint)
}

function checkFault(name: string, fault: unknown): FaultName {
  if (faultNames.includes(fault as FaultName)) return fault as FaultName
  const text = checkText(name, fault)
  throw new InvalidArgumentError(name, `There is no fault "${text}".`, `Use one of: ${faultNames.join(', ')}.`)
}
