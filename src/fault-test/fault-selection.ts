import { InvalidArgumentError } from '../errors/index.ts'
import { type Check, checkInteger, checkText, mustBe } from '../shared/check-options.ts'
import { canInject, type FaultName, faultNames, type InjectedFault, idOf, type Place, placeOf } from './faults.ts'
import type { Run } from './run.ts'

/** Options that restrict which runs are made. See `FaultTestOptions`. */
export interface Selection {
  readonly faults?: readonly FaultName[] | undefined
  readonly requests?: readonly number[] | undefined
  readonly only?: readonly InjectedFault[] | undefined
}

const everything = 'Leave it out to test everything.'

/** The checks of the options in `Selection`. */
export const selectionChecks = {
  faults: listOf(checkFault),
  requests: listOf((name, at) => checkInteger(name, at, 1, 'Requests count from 1.')),
  only: listOf(checkId),
}

/** Returns the faults of all runs: at requests, assignments and file writes. */
export function selectFaults(run: Run, { faults: chosen, requests }: Selection): InjectedFault[] {
  const all = faultNames.filter((name) => chosen?.includes(name) ?? true).flatMap((name) => everywhere(name, run))
  return all.filter(({ fault, at }) => placeOf(fault) !== 'request' || (requests?.includes(at) ?? true))
}

/** Returns a fault at each place of a run where it can be injected. */
function everywhere(fault: FaultName, run: Run): InjectedFault[] {
  const all = Array.from({ length: countOf(placeOf(fault), run) }, (_, index) => ({ fault, at: index + 1 }))
  return all.filter(({ at }) => canInject(fault, run.requests, at))
}

function countOf(place: Place, { requests, counts }: Run): number {
  return place === 'request' ? requests.length : counts[place]
}

/** Throws if a run without faults has no place for something in the selection. Its run would test nothing, and pass. */
export function checkSelection({ faults: chosen, requests, only = [] }: Selection, run: Run): void {
  const fault = chosen?.find((name) => placeOf(name) === 'request') ?? 'unavailable'
  for (const at of requests ?? []) if (at > run.requests.length) throw neverInjected('requests', { fault, at }, run)
  for (const name of chosen ?? []) {
    if (everywhere(name, run).length === 0) throw neverInjected('faults', { fault: name, at: 1 }, run)
  }
  for (const injected of only) {
    if (!everywhere(injected.fault, run).some(({ at }) => at === injected.at))
      throw neverInjected('only', injected, run)
  }
}

function neverInjected(option: keyof Selection, injected: InjectedFault, run: Run): InvalidArgumentError {
  const place = placeOf(injected.fault)
  const count = countOf(place, run)
  const made = `the ${run.what} made ${count} ${place}${count === 1 ? '' : 's'}`
  const why = injected.at > count ? made : `the fault cannot affect that ${place}`
  const hint = `Correct \`${option}\`, or leave it out to test everything.`
  return new InvalidArgumentError(option, `${idOf(injected)} was never injected: ${why}.`, hint)
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
function checkId(name: string, id: unknown): InjectedFault {
  const hint = 'Pass the ids of runs, as a report names them.'
  const [fault, at] = checkText(name, id).split('@')
  const injected = { fault: checkFault(name, fault), at: checkInteger(name, Number(at), 1, hint) }
  if (idOf(injected) === id) return injected
  throw new InvalidArgumentError(name, `"${id}" is not the id of a run.`, hint)
}

function checkFault(name: string, fault: unknown): FaultName {
  if (faultNames.includes(fault as FaultName)) return fault as FaultName
  const text = checkText(name, fault)
  throw new InvalidArgumentError(name, `There is no fault "${text}".`, `Use one of: ${faultNames.join(', ')}.`)
}
