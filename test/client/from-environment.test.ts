import { inspect } from 'node:util'
import { InvalidArgumentError, SupportWorkspace } from 'support-workspace-sdk'
import { afterEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { json, scripted, token } from '../helpers/client.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

const setEnvironment = (url: string | undefined, accessToken: string | undefined) => {
  vi.stubEnv('SUPPORT_WORKSPACE_URL', url)
  vi.stubEnv('SUPPORT_WORKSPACE_TOKEN', accessToken)
}

describe('fromEnvironment', () => {
  test.each([
    ['the address of the variable', 'http://127.0.0.1:4010/prefix', 'http://127.0.0.1:4010/prefix/api/oauth/v1/me'],
    ['the service, without an address', undefined, 'https://api.supportwire.app/api/oauth/v1/me'],
    ['the service, with an empty address', '', 'https://api.supportwire.app/api/oauth/v1/me'],
  ])('sends the token to %s', async (_title, url, expected) => {
    setEnvironment(url, token)
    const fetch = scripted(json({ actor: 'self', scopes: [] }))
    await SupportWorkspace.fromEnvironment({ actor: 'self', fetch }).me()
    expect(fetch.requests.map((request) => [request.url, request.headers.get('authorization')])).toEqual([
      [expected, `Bearer ${token}`],
    ])
  })

  test('returns a client of the actor that is passed', () => {
    setEnvironment(undefined, token)
    const workspace = SupportWorkspace.fromEnvironment({ actor: 'app' })
    expectTypeOf(workspace).toEqualTypeOf<SupportWorkspace<'app'>>()
    expect(workspace.actor).toBe('app')
    expect(SupportWorkspace.fromEnvironment().actor).toBeUndefined()
    expect(inspect(workspace)).not.toContain(token)
  })

  test.each([[undefined], ['']])('names the variable and the sandbox when the token is %j', (accessToken) => {
    setEnvironment('http://127.0.0.1:4010', accessToken)
    expect(() => SupportWorkspace.fromEnvironment()).toThrow(InvalidArgumentError)
    expect(() => SupportWorkspace.fromEnvironment()).toThrow(
      /SUPPORT_WORKSPACE_TOKEN is not set.*`npx --no -- support-workspace-sdk sandbox`, which prints both as lines to paste/s,
    )
  })

  test.each([
    ['a browser', () => vi.stubGlobal('window', { document: {} })],
    ['a runtime without environment variables', () => vi.stubGlobal('process', undefined)],
  ])('throws in %s', (_title, prepare) => {
    setEnvironment(undefined, token)
    prepare()
    expect(() => SupportWorkspace.fromEnvironment()).toThrow('needs environment variables')
  })

  test('checks the options and the address as the constructor does', () => {
    setEnvironment('http://service.example', token)
    expect(() => SupportWorkspace.fromEnvironment()).toThrow('`baseUrl` is plain http')
    expect(() => SupportWorkspace.fromEnvironment({ timeout: -1 })).toThrow('`timeout`')
    expect(() => SupportWorkspace.fromEnvironment({ unknown: 1 } as object)).toThrow('unknown')
    const inherited = Object.create({ actor: 'app' })
    setEnvironment(undefined, token)
    expect(SupportWorkspace.fromEnvironment(inherited).actor).toBe('app')
  })

  test.each([
    ['a promise', Promise.resolve({ actor: 'app' }), 'a plain object'],
    ['a Map', new Map([['actor', 'app']]), 'a plain object'],
    ['null', null, 'an object'],
  ])('refuses %s as options', (_title, options, expected) => {
    setEnvironment(undefined, token)
    expect(() => SupportWorkspace.fromEnvironment(options as never)).toThrow(`\`options\` must be ${expected}`)
  })

  test.each([
    ['baseUrl', 'SUPPORT_WORKSPACE_URL'],
    ['accessToken', 'SUPPORT_WORKSPACE_TOKEN'],
  ])('says where `%s` comes from', (name, variable) => {
    setEnvironment(undefined, token)
    const problem = `\`${name}\` is not an option of \`fromEnvironment\`, which reads it from the environment variable ${variable}.`
    expect(() => SupportWorkspace.fromEnvironment({ [name]: 'http://127.0.0.1:4010' })).toThrow(problem)
  })
})
