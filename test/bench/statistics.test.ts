import { expect, test } from 'vitest'
import { figureOf, shuffled } from '../../bench/statistics.ts'

test('a median and quartiles are interpolated between the two nearest values', () => {
  expect(figureOf([5, 1, 2, 4, 3])).toEqual({ median: 3, q1: 2, q3: 4 })
  expect(figureOf([4, 1, 3, 2])).toEqual({ median: 2.5, q1: 1.75, q3: 3.25 })
  expect(figureOf([7])).toEqual({ median: 7, q1: 7, q3: 7 })
})

test('shuffling keeps every item and does not change the array', () => {
  const items = Object.freeze([1, 2, 3, 4, 5])
  expect(shuffled(items).sort()).toEqual(items)
})
