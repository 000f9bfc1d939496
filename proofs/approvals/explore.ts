import { setImmediate } from 'node:timers/promises'
import type { KeyValueStorage } from 'support-workspace-sdk/storage'
import { vi } from 'vitest'
import { digestAtOnce } from '../../test/journal/digest-at-once.ts'
import { type Act, Actor, approve, propose, World } from './world.ts'

/** Actors that run beside each other, after a proposal was made and, by default, approved. */
export interface Scenario {
  readonly title: string
  /** What was done before. */
  readonly first?: readonly Act[]
  readonly actors: readonly (readonly Act[])[]
  /** The token of each actor, `may_token` by default. */
  readonly tokens?: readonly (string | undefined)[]
  readonly faults?: World['faults']
  /** Whether the first actor is also killed at each of its steps. */
  readonly kills?: boolean
}

export interface Counts {
  orders: number
  crossed: number
  readonly states: Record<string, number>
}

/** Switches between actors: after so many steps, the next actor runs. */
type Order = readonly number[]

export interface Depth {
  /** The most switches between actors before each runs to its end. */
  readonly switches: number
  /** Every which place of a switch is tried. 1 for each. */
  readonly stride?: number
  readonly open?: () => Promise<KeyValueStorage>
}

/** The time limit of a call of a storage, in milliseconds. */
const storageLimit = 30_000

/**
 * Takes the place of clocks, digests and chance, so that an order can be repeated. No time limit expires: what a killed
 * process waits for would otherwise go on in the tests of other files.
 */
export function simulate(): { readonly at: (world: World) => void; readonly end: () => void } {
  let current: World | undefined
  digestAtOnce()
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const start = globalThis.setTimeout
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, delay?: number) =>
    delay === storageLimit ? start(() => {}) : start(run, delay)) as typeof setTimeout)
  vi.spyOn(Date, 'now').mockImplementation(() => current?.now ?? 0)
  return {
    at(world) {
      current = world
    },
    end: () => vi.restoreAllMocks(),
  }
}

/**
 * Runs a scenario in every order with so many switches: the first actor runs `n` steps, the next one `m`, and so on, and
 * then each to its end. Throws with the order if something is wrong.
 */
export async function explore(
  scenario: Scenario,
  { switches, stride = 1, open }: Depth,
  counts: Counts,
): Promise<void> {
  const clock = simulate()
  try {
    for (const kill of scenario.kills ? [false, true] : [false]) {
      const walk = async (order: Order): Promise<void> => {
        if (order.length === switches) {
          await runOnce(order)
          return
        }
        for (let steps = 0; ; steps += stride) {
          const { wasLong } = await runOnce([...order, steps], order.length + 1 < switches)
          if (order.length + 1 < switches) await walk([...order, steps])
          if (!wasLong) return
        }
      }
      const runOnce = async (order: Order, isProbe = false) => {
        const world = new World(await open?.())
        clock.at(world)
        const setup = new Actor(world, 'setup', scenario.first ?? [propose(), approve()])
        await setup.settle()
        while (!setup.isOver) await setup.go()
        world.faults = [...(scenario.faults ?? [])]
        const actors = scenario.actors.map(
          (acts, index) => new Actor(world, `actor ${index}`, acts, scenario.tokens?.[index]),
        )
        for (const actor of actors) await actor.settle()
        let wasLong = true
        for (const [turn, steps] of order.entries()) {
          const actor = actors[turn % actors.length] as Actor
          let left = steps
          for (; left > 0 && !actor.isOver; left -= 1) await actor.go()
          wasLong = !actor.isOver
          if (kill && turn === 0) actor.isKilled = true
        }
        if (isProbe) return { wasLong }
        // The next actor is the first to go on.
        for (const turn of actors.keys()) {
          const actor = actors[(order.length + turn) % actors.length] as Actor
          while (!actor.isOver && !actor.isKilled) await actor.go()
        }
        await setImmediate()
        const { wrong, crossed, state } = await world.finish()
        const seen = `${scenario.title}, order ${order.join(', ')}${kill ? ', killed' : ''}`
        if (wrong.length > 0) throw new Error(`${seen}: ${wrong.join('; ')} (${state}; ${world.errors.join('; ')})`)
        counts.orders += 1
        counts.crossed += crossed
        counts.states[state] = (counts.states[state] ?? 0) + 1
        return { wasLong }
      }
      await walk([])
    }
  } finally {
    clock.end()
  }
}
