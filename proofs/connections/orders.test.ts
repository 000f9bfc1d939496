import { describe, expect, test } from 'vitest'
import { isFull } from '../is-full.ts'
import { everyOrder, type Operation, type Scenario, type Start } from './orders.ts'

/** The operations, by name. */
const operations = {
  save: { do: 'save', token: 'new' },
  'save with metadata': { do: 'save', token: 'other', metadata: 'S' },
  'save of the same token': { do: 'save', token: 'old', metadata: 'T' },
  'retry after a failed /me': { do: 'retry after', failed: 'me' },
  'retry after a failed write': { do: 'retry after', failed: 'before' },
  'retry after a lost response': { do: 'retry after', failed: 'after' },
  setMetadata: { do: 'setMetadata', metadata: 'A' },
  'setMetadata to nothing': { do: 'setMetadata', metadata: undefined },
  verify: { do: 'verify' },
  get: { do: 'get' },
  list: { do: 'list' },
  remove: { do: 'remove' },
  reseal: { do: 'reseal' },
  refused: { do: 'refused', token: 'old' },
} satisfies Record<string, Operation>
type Name = keyof typeof operations
const names = Object.keys(operations) as Name[]

/** All ways to choose a number of operations, in which the order does not matter. */
function choices(count: number, from = 0): Name[][] {
  if (count === 0) return [[]]
  return names.slice(from).flatMap((name, index) => choices(count - 1, from + index).map((rest) => [name, ...rest]))
}

/** The scenarios of some operations that can happen: one retry, and a token that the service rejects only where there is one. */
function scenariosOf(chosen: readonly Name[], options: Partial<Scenario> = {}): Scenario[] {
  const retries = chosen.filter((name) => name.startsWith('retry'))
  const isRefused = chosen.includes('refused')
  if (
    retries.length > 1 ||
    (isRefused && (chosen.includes('save of the same token') || retries.includes('retry after a lost response')))
  )
    return []
  const starts: readonly Start[] = isRefused
    ? ['a connection']
    : ['nothing', 'a connection', 'a revoked connection', 'the mark of a removal']
  return starts.flatMap((start) =>
    [false, true]
      .filter((keepRevoked) => start !== (keepRevoked ? 'the mark of a removal' : 'a revoked connection'))
      .map((keepRevoked) => ({ start, keepRevoked, operations: chosen.map((name) => operations[name]), ...options })),
  )
}

async function runAll(scenarios: readonly Scenario[]): Promise<{ scenarios: number; orders: number }> {
  let orders = 0
  for (const scenario of scenarios) orders += await everyOrder(scenario)
  return { scenarios: scenarios.length, orders }
}

const pairs = choices(2).filter((_, index) => isFull || index % 4 === 0)
const ways: readonly [string, Partial<Scenario>][] = [
  ['in two processes', {}],
  ['in one process', { inOneProcess: true }],
]
const faults: typeof ways = [
  ['whose writes are sent twice', { fault: 'sent twice' }],
  ['whose writes lose their responses', { fault: 'response lost' }],
]

test.each(isFull ? [...ways, ...faults] : ways)(
  'two operations %s have the results of a sequence in every order of their storage calls',
  async (title, options) => {
    const counts = await runAll(pairs.flatMap((pair) => scenariosOf(pair, options)))
    expect(counts.orders).toBeGreaterThan(counts.scenarios)
    console.log(`two operations ${title}: ${JSON.stringify(counts)}`)
  },
  600_000,
)

if (isFull) {
  test('three operations in three processes have the results of a sequence', async () => {
    const chosen = choices(3).filter(
      (three) => !three.some((name) => name === 'list' || name === 'setMetadata to nothing'),
    )
    const scenarios = chosen.flatMap((three) => scenariosOf(three))
    const counts = await runAll(scenarios.filter(({ start }) => start === 'nothing' || start === 'a connection'))
    console.log(`three operations: ${JSON.stringify(counts)}`)
  }, 3_600_000)
}

describe('the check finds', () => {
  test.each<[string, Name[], Partial<Scenario>]>([
    [
      'a compareAndSet that ignores what it expects',
      ['setMetadata', 'save with metadata'],
      { sabotage: 'ignores expected' },
    ],
    ['a 401 that ignores the token', ['refused', 'save'], { sabotage: 'ignores token' }],
  ])('%s', async (_, chosen, options) => {
    await expect(runAll(scenariosOf(chosen, options))).rejects.toThrow('No sequence explains this.')
    expect((await runAll(scenariosOf(chosen))).orders).toBeGreaterThan(5)
  })
})
