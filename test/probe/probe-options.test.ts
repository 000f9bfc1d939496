import { InvalidArgumentError } from 'support-workspace-sdk'
import { probe } from 'support-workspace-sdk/probe'
import { describe, expect, test } from 'vitest'
import { rejection } from '../helpers/client.ts'

describe('probe rejects', () => {
  const valid = { baseUrl: 'https://api.test', accessToken: 'swot_secret', confirmed: true } as const
  test.each([
    ['without `confirmed`', { ...valid, confirmed: undefined }, 'confirmed'],
    ['with another value of it', { ...valid, confirmed: 'yes' }, 'confirmed'],
    ['without a token', { ...valid, accessToken: undefined }, 'accessToken'],
    ['with plain http to another machine', { ...valid, baseUrl: 'http://api.test' }, 'baseUrl'],
    ['with a misspelled option', { ...valid, confirm: true }, 'confirm'],
    ['with a `fetch` that is none', { ...valid, fetch: 'https' }, 'fetch'],
    ['without options', undefined, 'options'],
  ])('%s', async (_, options, argument) => {
    const error = await rejection(probe(options as never))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error).toMatchObject({ argument })
    expect(JSON.stringify(error)).not.toContain('swot_secret')
  })
})
