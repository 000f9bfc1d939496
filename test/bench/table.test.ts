import { expect, test } from 'vitest'
import { renderSuite } from '../../bench/report/table.ts'

test('the settings are columns if every SDK has most of them', () => {
  const rows = [
    { name: 'one', setting: 'import', values: { ms: { median: 120.4, q1: 99.96, q3: 1_500 } } },
    { name: 'one', setting: 'require', values: { ms: { median: 0, q1: -0.25, q3: 12.34 } } },
    { name: 'another', setting: 'import', values: { ms: { median: 1, q1: 1, q3: 1 } } },
  ]
  expect(renderSuite({ shows: 'ms', unit: 'ms' }, rows).split('\n')).toEqual([
    '         import            require',
    'one      120 (100.0–1500)  0.00 (-0.25–12.3)',
    'another  1.00 (1.00–1.00)  -',
    'ms: median (quartiles)',
    '',
  ])
})

test('each row names its setting if the SDKs have different ones', () => {
  const rows = ['client', 'everything', 'store', 'login'].map((setting) => ({
    name: 'one',
    setting,
    values: { kB: 9 },
  }))
  const table = renderSuite({ shows: 'kB', unit: 'kB' }, [
    ...rows,
    { name: 'two', setting: 'client', values: { kB: 12 } },
  ])
  expect(table.split('\n').slice(-4)).toEqual(['one  login       9', 'two  client      12', 'kB', ''])
})
