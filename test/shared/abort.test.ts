import { expect, test } from 'vitest'
import { untilAborted } from '../../src/shared/abort.ts'
import { rejection } from '../helpers/client.ts'
import { unhandledDuring } from '../helpers/unhandled.ts'

test('untilAborted() handles the rejection of a step although the signal throws', async () => {
  const addEventListener = () => {
    throw new Error('from the signal')
  }
  const signal = { aborted: false, addEventListener, removeEventListener: addEventListener } as unknown as AbortSignal
  const unhandled = await unhandledDuring(async () => {
    const step = Promise.reject(new Error('from the step'))
    expect(await rejection(untilAborted(step, signal))).toMatchObject({ message: 'from the signal' })
  })
  expect(unhandled).toEqual([])
})
