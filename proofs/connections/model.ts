// What a store must do, one operation after the other. `orders.test.ts` compares real runs with it.

/** The connection of the model. */
export interface State {
  readonly token: string
  /** The name in the last response of `/me`. */
  readonly name: string
  readonly metadata: string | undefined
  /** Id of the operation that saved it. */
  readonly login: string
  readonly isRevoked: boolean
}

/** An operation of the store. `refused` is a call whose token the service rejects. */
export type Action =
  | { readonly do: 'save'; readonly token: string; readonly metadata?: string }
  /** The retry of a failed save of the login `of`, which found the login `replaces`, or any if that is not known. */
  | {
      readonly do: 'retry'
      readonly token: string
      readonly metadata?: string
      readonly of: string
      readonly replaces?: string
    }
  | { readonly do: 'setMetadata'; readonly metadata: string | undefined }
  | { readonly do: 'refused'; readonly token: string }
  | { readonly do: 'verify' | 'get' | 'list' | 'remove' | 'reseal' }

/** An operation of a run. */
export interface Event {
  readonly id: string
  readonly action: Action
  readonly start: number
  /** Undefined if nobody knows whether it took effect, and when. */
  readonly end: number | undefined
  readonly result: string | undefined
}

export interface Rules {
  readonly keepRevoked: boolean
  /** The tokens that the service rejects. */
  readonly rejected: readonly string[]
  /** The name that `/me` returns for a token. */
  readonly nameOf: (token: string) => string
  /** Whether a change may be made twice, so that its result shows what came between. */
  readonly isRepeated: boolean
}

type Step = readonly [next: State | undefined, result: string]

/** Returns the connection as a result. */
export function view(state: Omit<State, 'token' | 'login'> | undefined): string {
  return state === undefined ? 'none' : `${state.name} ${state.metadata ?? '-'}${state.isRevoked ? ' revoked' : ''}`
}

/** Returns what an operation may do to a connection. */
function stepsOf({ id, action }: Event, state: State | undefined, rules: Rules): readonly Step[] {
  const live = state?.isRevoked === false ? state : undefined
  const save = (token: string, login: string, metadata = state?.metadata): Step => {
    const saved = { token, login, metadata, name: rules.nameOf(token), isRevoked: false }
    return [saved, saved.name]
  }
  const refuse = (token: string): Step => {
    if (live?.token !== token) return [state, '401']
    return [rules.keepRevoked ? { ...live, isRevoked: true } : undefined, '401 told']
  }
  switch (action.do) {
    case 'save':
      return [save(action.token, id, action.metadata)]
    case 'retry': {
      const written = save(action.token, action.of, action.metadata)
      const keep: Step = [state, state?.name ?? '']
      if (state?.login === action.of) return [keep]
      if (live === undefined || live.login === action.replaces) return [written]
      return action.replaces === undefined ? [keep, written] : [keep]
    }
    case 'setMetadata': {
      const changed = state && { ...state, metadata: action.metadata }
      return [[changed, changed === undefined ? 'not_connected' : view(changed)]]
    }
    case 'refused':
      return [refuse(action.token)]
    case 'verify': {
      const refusals = rules.rejected.map(refuse)
      if (live === undefined) return [[state, 'not_connected'], ...refusals]
      if (rules.rejected.includes(live.token)) return refusals
      const verified = { ...live, name: rules.nameOf(live.token) }
      return [[verified, view(verified)], ...refusals]
    }
    case 'get':
    case 'list':
      return [[state, view(state)]]
    case 'remove':
      return [[undefined, 'none']]
    case 'reseal':
      return [[state, 'none']]
  }
}

/** Returns the part of a result that must be right: of a change that may be made twice, only what it changes. */
function shown({ action }: Event, result: string | undefined, { isRepeated }: Rules): string | undefined {
  if (isRepeated && action.do === 'setMetadata') return result?.replace(/^\S+ /, '')
  return isRepeated && action.do === 'verify' ? result?.replace(/(?<!^401) .*/, '') : result
}

/**
 * Whether the operations could have taken effect one after the other, each between its start and its end (Wing and Gong,
 * 1993). Those without an end may have had no effect.
 */
export function isLinearizable(events: readonly Event[], before: State | undefined, rules: Rules): boolean {
  const seen = new Set<string>()
  const search = (open: readonly Event[], state: State | undefined, latestStart: number): boolean => {
    const required = open.filter(({ end }) => end !== undefined)
    if (required.length === 0) return true
    const position = `${open.map(({ id }) => id).join()} ${JSON.stringify(state)}`
    if (seen.has(position)) return false
    seen.add(position)
    const firstEnd = Math.min(...required.map(({ end = 0 }) => end))
    return open
      .filter(({ start, end }) => start <= firstEnd && (end ?? latestStart) >= latestStart)
      .some((event) => {
        const rest = open.filter((other) => other !== event)
        return stepsOf(event, state, rules).some(
          ([next, result]) =>
            (event.end === undefined || shown(event, result, rules) === shown(event, event.result, rules)) &&
            search(rest, next, Math.max(latestStart, event.start)),
        )
      })
  }
  return search(events, before, 0)
}
