import { expect } from 'vitest'
import { simulate } from './explore.ts'
import { type Act, Actor, approve, propose, send, World } from './world.ts'

const once: Act = (_, { journal }) => journal.once('r', (client) => client.notes.create('c', { body_html: 'Note.' }))

/** The steps of one that the other can notice, or that depend on the other. All others can be in any order. */
function isShared({ name }: Actor, step: string): boolean {
  return (
    /^((add|remove) .*:r$|POST)/.test(step) || step.startsWith(name === 'approvals' ? 'get writes:' : 'get approvals:')
  )
}

/** Runs everything that can be asked again after a crash, by a person who tells the truth about what was sent. */
async function recover(world: World): Promise<void> {
  // A journal that repeats for ever must not block the test.
  world.stops = (_, step) => /^(add|remove|POST)/.test(step)
  world.now += 3_600_000
  const acts: Act[] = [
    async (_, { journal }) => {
      const { state } = (await journal.get('r')) ?? {}
      if (state === 'sending') await journal.resolve('r', world.notes > 0 ? 'applied' : 'absent')
    },
    send,
    (_, { approvals }) => approvals.resolve('r', 'absent'),
    once,
    ...[propose(undefined, { again: true }), approve(), send],
  ]
  const actor = new Actor(world, 'the next run', acts)
  await actor.settle()
  for (let steps = 0; !actor.isOver; steps += 1) {
    expect(steps).toBeLessThan(1_000)
    await actor.go()
  }
}

/**
 * Runs approvals and a journal that send the same key, in each order of their steps.
 *
 * @param first what was done before
 * @param killed who is killed after so many steps
 */
export async function everyOrder(
  first: readonly Act[],
  acts: readonly Act[],
  killed?: { name: string; after: number },
) {
  const clock = simulate()
  const seen = { orders: 0, approvals: 0, journal: 0, neither: 0, isLong: false }
  try {
    for (let choices: number[] | undefined = []; choices !== undefined; ) {
      const world: World = new World()
      clock.at(world)
      const setup = new Actor(world, 'setup', first)
      await setup.settle()
      while (!setup.isOver) await setup.go()
      world.stops = isShared
      const actors = [new Actor(world, 'approvals', acts), new Actor(world, 'journal', [once])]
      for (const actor of actors) await actor.settle()
      const steps = new Map<Actor, number>()
      const order: { readonly choice: number; readonly isLast: boolean }[] = []
      for (;;) {
        const ready = actors.filter(({ isOver, isKilled }) => !isOver && !isKilled)
        if (ready.length === 0) break
        const choice: number = choices[order.length] ?? 0
        order.push({ choice, isLast: choice === ready.length - 1 })
        const actor = ready[choice] as Actor
        if (killed?.name === actor.name && (steps.get(actor) ?? 0) === killed.after) {
          actor.isKilled = true
          seen.isLong = true
          continue
        }
        steps.set(actor, (steps.get(actor) ?? 0) + 1)
        await actor.go()
      }
      const sent = [world.posts, world.notes]
      const place = `order ${order.map(({ choice }) => choice).join('')}, ${JSON.stringify(killed)}`
      expect(Math.max(0, world.posts + world.notes - 1), `${place}: both were sent`).toBe(0)
      await recover(world)
      expect([...world.wrong, world.posts + world.notes], `${place}: after it was asked again`).toEqual([1])
      seen.orders += 1
      seen[sent[0] ? 'approvals' : sent[1] ? 'journal' : 'neither'] += 1
      const last = order.findLastIndex(({ isLast }) => !isLast)
      choices =
        last < 0 ? undefined : [...order.slice(0, last).map(({ choice }) => choice), (order[last]?.choice ?? 0) + 1]
    }
  } finally {
    clock.end()
  }
  return seen
}

export const whole = [propose(), approve(), send]
