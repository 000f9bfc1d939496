import { InvalidArgumentError } from 'support-workspace-sdk'
import { announceProbe, probe, type RunProbeOptions, runProbe } from 'support-workspace-sdk/probe'
import { createSandbox } from 'support-workspace-sdk/sandbox'
import { describe, expect, test, vi } from 'vitest'
import { rejection } from '../helpers/client.ts'

/** Runs a probe of a sandbox, and returns what a person would see of it. */
async function run(changes: Partial<RunProbeOptions> = {}) {
  const sandbox = createSandbox()
  const events: string[] = []
  const code = await runProbe({
    baseUrl: sandbox.url,
    accessToken: sandbox.issueToken(),
    fetch: (url, init) => {
      events.push('request')
      return sandbox.fetch(url, init as RequestInit)
    },
    wait: async () => {},
    print: (text) => void events.push(text),
    write: async (path) => void events.push(`write ${path}`),
    file: 'found.json',
    ...changes,
  })
  return { code, events, requests: events.filter((event) => event === 'request').length }
}

test('says what it will do, asks, probes, prints the file and then writes it', async () => {
  const confirm = vi.fn(async () => true)
  const { code, events, requests } = await run({ confirm })
  expect(code).toBe(0)
  expect(events[0]).toBe(`${announceProbe()}\n`)
  expect(requests).toBeGreaterThan(30)
  expect(events.at(-3)).toContain(`${requests} requests were sent.`)
  expect(events.at(-3)).toContain('"limit.default"')
  expect(events.slice(-2)).toEqual(['write found.json', 'write found.overlay.json'])
  expect(confirm).toHaveBeenCalledOnce()
})

describe('sends nothing', () => {
  test('and returns 2 if nobody can be asked', async () => {
    const { code, events, requests } = await run()
    expect([code, requests]).toEqual([2, 0])
    expect(events.at(-1)).toContain('--yes')
  })

  test('and returns 1 if the person disagrees', async () => {
    expect(await run({ confirm: async () => false })).toMatchObject({ code: 1, requests: 0 })
  })
})

test('asks nobody with `yes`', async () => {
  const confirm = vi.fn(async () => false)
  expect((await run({ yes: true, confirm })).code).toBe(0)
  expect(confirm).not.toHaveBeenCalled()
})

test('returns 1 if it stopped early, writes what it has, and no Overlay if nothing was observed', async () => {
  const fetch = async () => Response.json({ error: 'invalid_token' }, { status: 401 })
  const { code, events } = await run({ yes: true, fetch })
  expect(code).toBe(1)
  expect(events.filter((event) => event.startsWith('write'))).toEqual(['write found.json'])
})

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
