import { expect, test } from 'vitest'
import { plantedPrograms, sweepPlanted } from './programs.ts'

test.each(plantedPrograms)('$file has the same verdicts three times', { timeout: 3_600_000 }, async (program) => {
  const { file, options, all } = program
  const verdicts: string[][] = []
  for (let count = 0; count < 3; count += 1) {
    const { runs } = await sweepPlanted(file, options)
    const failed = runs.flatMap(({ id, verdicts: [first] }) => (first === undefined ? [] : [[first.name, id] as const]))
    const counts = [...Map.groupBy(failed, ([name]) => name)].map(([name, each]) => [name, each.length])
    expect(Object.fromEntries(counts)).toEqual(all)
    verdicts.push(failed.map(([name, id]) => `${id} ${name}`))
  }
  expect(verdicts).toEqual([verdicts[0], verdicts[0], verdicts[0]])
})
