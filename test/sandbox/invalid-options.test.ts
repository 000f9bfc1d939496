import { InvalidArgumentError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import {
  createSandbox,
  type Fault,
  type FaultRule,
  type SandboxApp,
  type SandboxOptions,
  type TokenOptions,
} from '../../src/sandbox/index.ts'

/** Wrong values of each option. The compiler requires every option. What the messages say is in test/cli/sandbox.test.ts. */
type WrongValues<Options> = Record<keyof Options, readonly unknown[]>

const notAnObject = [null, 5, 'x', true, [], () => {}, new Map()]
const seed = [-1, 1.5, 2 ** 32, '5', null]
const integer = (lowest: number) => [lowest - 1, 1.5, Number.NaN, Infinity, '5', null, {}]
const count = (lowest: number) => [...integer(lowest), 100_001]
const text = ['', 5, null, {}]
const boolean = [1, 'true', null]
const noFunction = [5, 'x', null, {}]

const sandboxOptions = {
  port: [-1, 1.5, 70_000, Number.NaN, '80', null],
  host: text,
  allowedHosts: [
    'sandbox',
    null,
    [5],
    [''],
    ['http://sandbox'],
    ['sandbox:80'],
    ['cafe:80'],
    ['[::1'],
    ['*'],
    [undefined],
    Array(1),
  ],
  organizations: count(1),
  conversations: count(0),
  messagesPerConversation: count(0),
  contacts: count(0),
  members: count(1),
  tasks: count(0),
  segments: count(0),
  seed,
  tokens: notAnObject,
  app: notAnObject,
  now: [...noFunction, new Date()],
  autoConsent: [true, false, 'Allow', null],
  cors: ['x', '*', 0, null, ['*'], ['http://localhost:3000/'], ['localhost'], [undefined], [5]],
  maxLimit: integer(1),
  rateLimit: [100, '100', '100/day', '0/min', '-1/s', '1.5/s', '100 / min', '', null],
  onRequest: noFunction,
} satisfies WrongValues<SandboxOptions>

const scopes = ['x', 5, null, [5], ['everything'], [undefined]]
const token = ['', 'token', 'swot_', 'swot_a b', 'swot_a\n', 5, null]
const tokenFields = { self: token, app: token } satisfies WrongValues<NonNullable<SandboxOptions['tokens']>>

const wrongUris = [
  ...['nowhere', '/callback', 'http://localhost/#here', 'http://localhost/€', 'http://localhost/a b'],
  ...['http://localhost/\r\nset-cookie:a=b', 'http://localhost/\x1b[31m', 5, undefined],
]

const appFields = {
  clientId: text,
  clientSecret: text,
  redirectUris: ['http://localhost/', null, ...wrongUris.map((uri) => [uri])],
  name: text,
  description: [5, null],
  scopes,
} satisfies WrongValues<SandboxApp>

const tokenOptions = {
  actor: ['App', true, null],
  scopes,
  organization: [5, null, {}],
  member: [5, null, {}],
  role: ['owner', 5, null],
} satisfies WrongValues<TokenOptions>

const milliseconds = [-1, Number.NaN, Infinity, 2 ** 31, '5', null]

const faultOptions = {
  status: [99, 199, 600, 500.5, '500', null],
  retryAfter: [Number.NaN, -1, Infinity, new Date(Number.NaN), 'a\nb', null, {}],
  body: [() => {}, 5n, Symbol('x'), new Map(), new Uint8Array(1), new Response(), [5n]],
  headers: [null, 'x', [['a', 'b']], new Headers(), { 'a b': 'c' }, { a: 'b\nc' }, { a: 5 }, { a: undefined }],
  effect: boolean,
  lateEffect: milliseconds,
  latency: milliseconds,
  drop: ['after_effect', true, null],
  onDrop: noFunction,
  truncate: boolean,
  garbage: boolean,
  drip: [
    ...[...notAnObject, {}, { bytes: 5, interval: 5, intervall: 5 }],
    ...[0, 1.5, '5'].map((bytes) => ({ bytes, interval: 5 })),
    ...milliseconds.map((interval) => ({ bytes: 5, interval })),
  ],
  stall: boolean,
} satisfies WrongValues<Fault>

const ruleOptions = {
  ...faultOptions,
  method: [5, null, '', 'FETCH', ['GET']],
  path: [5, null, '', 'api', '/api?limit=5', '/a b', 'http://localhost/api', [/x/]],
  times: [0, -1, 1.5, Number.NaN, '1', null],
  after: integer(0),
  probability: [-0.1, 1.1, Number.NaN, '0.5', null],
  seed,
} satisfies WrongValues<FaultRule>

const sandbox = createSandbox({ conversations: 1 })
// A fault needs a status for most of its options. Without one, the others could not be the reason of the error.
const withStatus = (options: object) => ({ status: 500, ...options })

/** Functions that take options, what error messages say that these belong to, and the name of the argument. */
const takers: [
  name: string,
  owner: string,
  argument: string,
  take: (options: never) => unknown,
  Record<string, readonly unknown[]>,
][] = [
  ['createSandbox', 'the sandbox', 'options', createSandbox, sandboxOptions],
  ['createSandbox with app', '`app`', 'app', (app) => createSandbox({ app }), appFields],
  ['createSandbox with tokens', '`tokens`', 'tokens', (tokens) => createSandbox({ tokens }), tokenFields],
  ['issueToken', '`issueToken`', 'options', sandbox.issueToken, tokenOptions],
  ['failNext', 'a fault', 'fault', (fault) => sandbox.failNext(fault), faultOptions],
  ['faults.add', 'a fault', 'fault', (rule) => sandbox.faults.add(rule), ruleOptions],
]

describe.each(takers)('%s', (_, owner, argument, take, wrong) => {
  const isFault = argument === 'fault'

  test.each(Object.entries(wrong))('rejects a wrong `%s`', (option, values) => {
    for (const value of values) {
      const options = isFault ? withStatus({ [option]: value }) : { [option]: value }
      const error = errorOf(() => take(options as never))
      expect(error.argument).toBe(option)
      expect(error.message).toContain(`\`${option}\` must be `)
    }
  })

  test('lists the options if one is unknown', () => {
    const names = Object.keys(wrong).map((each) => `\`${each}\``)
    const message = `\`toString\` is not an option of ${owner}. Use one of: ${names.join(', ')}.`
    expect(errorOf(() => take({ toString: 'x' } as never)).message).toBe(message)
  })

  test('rejects options that are not an object', () => {
    for (const value of notAnObject) {
      expect(errorOf(() => take(value as never)).message).toMatch(
        RegExp(`^\`${argument}\` must be an? (plain )?object, not `),
      )
    }
  })

  test('ignores an option that is `undefined`', () => {
    for (const option of Object.keys(wrong)) {
      const options = isFault ? { status: 500, latency: 0, [option]: undefined } : { [option]: undefined }
      expect(() => take(options as never)).not.toThrow()
    }
  })
})

test.each([
  ['no kind', {}, 'must have one of `status`, `drop`, `truncate`, `garbage`, `drip`, `stall` and `latency`'],
  ['two kinds', { status: 500, garbage: true }, 'only one of'],
  ['a retry time without a status', { drop: 'mid-body', retryAfter: 1 }, 'require `status`'],
  ['a late effect and an early one', { status: 504, effect: true, lateEffect: 1 }, '`lateEffect` requires `status` w'],
  ['a late effect after the effect', { drop: 'after-effect', lateEffect: 1 }, '`lateEffect` requires `status` without'],
  ['a function for a drop without one', { stall: true, onDrop: () => {} }, '`onDrop` requires `drop`'],
] as const)('faults.add rejects a fault with %s', (_, rule, message) => {
  expect(errorOf(() => sandbox.faults.add(rule)).message).toContain(message)
})

test('createSandbox rejects the same token for both actors', () => {
  const { message } = errorOf(() => createSandbox({ tokens: { self: 'swot_one', app: 'swot_one' } }))
  expect(message).toBe('`self` and `app` must be two different tokens. Change one of them.')
})

test('an error about a token or a client secret does not contain the value', () => {
  const options = [{ tokens: { self: 'real_secret' } }, { app: { clientSecret: ['real_secret'] as never } }]
  for (const each of options) expect(errorOf(() => createSandbox(each)).message).not.toContain('real_secret')
})

const wrongRates = ['100', '0/min', 5, null, Promise.resolve('1/s')]

test.each(wrongRates)('createSandbox rejects %s as the limit of an organization', (rate) => {
  const [{ id } = { id: '' }] = sandbox.state.organizations
  const { message } = errorOf(() => createSandbox({ conversations: 1, rateLimit: () => rate as never }))
  expect(message).toContain(
    `\`rateLimit(${id})\` must be a number of requests per s, min or h, such as "100/min", not `,
  )
})

test.each([
  ['messages', { conversations: 1_000, messagesPerConversation: 1_000 }, 2_002_110],
  ['organizations', { organizations: 100_000 }, 53_500_000],
])('createSandbox rejects counts that multiply to too many %s', (_, counts, total) => {
  const { message } = errorOf(() => createSandbox(counts))
  expect(message).toBe(`The sandbox can hold up to 1000000 records, not ${total}. Reduce the counts in the options.`)
})

test.each([...wrongUris, null, {}, '', new URL('http://localhost/')])('registerRedirectUri rejects %s', (uri) => {
  const before = [...sandbox.app.redirectUris]
  const { message } = errorOf(() => sandbox.registerRedirectUri(uri as string))
  expect(message).toContain('`uri` must be an absolute URL of printable ASCII characters without a fragment, such as ')
  expect(sandbox.app.redirectUris).toEqual(before)
})

test.each([5, null, {}, '', '/api'])('handlers rejects %s', (baseUrl) => {
  const message = '`baseUrl` must be an absolute URL, such as "https://service.example", not '
  expect(errorOf(() => sandbox.handlers(baseUrl as string)).message).toContain(message)
})

/** Returns the error that a function throws. */
function errorOf(call: () => unknown): InvalidArgumentError {
  try {
    call()
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return error as InvalidArgumentError
  }
  throw new Error('It did not throw.')
}
