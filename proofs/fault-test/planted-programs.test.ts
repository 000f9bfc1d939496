import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { failuresOf, faultTestPlanted, plantedPrograms, quickFailures } from '../../test/fault-test/programs.ts'
import { isFull } from '../is-full.ts'

/** Returns the CPU time of this process and its ended children, in seconds (proc_pid_stat(5), fields 14 to 17). */
function cpuSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) / 100
}

test.runIf(isFull).each(plantedPrograms)('$file in a quick fault test', { timeout: 300_000 }, async (program) => {
  expect(await quickFailures(program)).toEqual(program.quick)
})

test('a program of another kind waits in real time', { timeout: 300_000 }, async () => {
  const report = await faultTestPlanted('curl.sh', {
    only: ['unavailable@1', 'reset-after-effect@2', 'killed-after-effect@2'],
  })
  expect(failuresOf(report)).toEqual(['reset-after-effect@2 doubled', 'killed-after-effect@2 doubled'])
})

test.runIf(isFull).each(plantedPrograms)(
  '$file has the same judgements three times',
  { timeout: 3_600_000 },
  async (program) => {
    const { file, options, all } = program
    const judgements: string[][] = []
    for (let count = 0; count < 3; count += 1) {
      const [time, cpu] = [performance.now(), cpuSeconds()]
      const { runs } = await faultTestPlanted(file, options)
      const failed = runs.flatMap(({ id, judgements: [first] }) =>
        first === undefined ? [] : [[first.name, id] as const],
      )
      const counts = [...Map.groupBy(failed, ([name]) => name)].map(([name, each]) => [name, each.length])
      const starts = runs.flatMap(({ attempts }) => attempts).length
      const [wall, used] = [(performance.now() - time) / 1_000, cpuSeconds() - cpu].map(Math.round)
      console.log(`${file}: ${runs.length} runs, ${starts} starts, ${wall} s, ${used} s of CPU, ${JSON.stringify(all)}`)
      expect(Object.fromEntries(counts)).toEqual(all)
      judgements.push(failed.map(([name, id]) => `${id} ${name}`))
    }
    expect(judgements).toEqual([judgements[0], judgements[0], judgements[0]])
  },
)
