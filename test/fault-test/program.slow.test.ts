import { describe, expect, test, vi } from 'vitest'
import { faultTestProgram } from '../../src/fault-test/index.ts'
import { addContact, attemptsOf, byStatus, programOf } from './programs.ts'

test('starts a program again by its exit code', async () => {
  const only = ['unavailable@1', 'killed-after-effect@1']
  expect(await attemptsOf(byStatus, { only })).toEqual({
    'unavailable@1': '75 (retry), 0 (done)',
    'killed-after-effect@1': 'was killed, 0 (done)',
  })
})

test('has three conversations, so that a program has few requests', async () => {
  const replyToAll = `const { data } = await fetch(url + '/api/oauth/v1/conversations', { headers }).then((response) => response.json())
    for (const { id } of data) await call('conversations/' + id + '/messages', { body_html: 'Hi' })`
  const only = ['unavailable@1']
  const { writes } = await faultTestProgram(programOf(replyToAll), { only, unseen: 'allowed' })
  expect(writes).toEqual(Array(3).fill('messages.create'))
  const sandbox = { conversations: 1 }
  expect((await faultTestProgram(programOf(replyToAll), { only, sandbox, unseen: 'allowed' })).writes).toHaveLength(1)
})

describe('rejects', () => {
  const sends = programOf(byStatus)
  test.each<[what: string, command: string[], options: object, message: string]>([
    ['no command', [], {}, '`command` must be an array of texts'],
    [
      'a program that is not there',
      ['no-such-program'],
      {},
      'no-such-program cannot be started: spawn no-such-program',
    ],
    ['an unknown option', sends, { output: ['a'] }, '`output` is not an option of `faultTestProgram`. Use one of: '],
    ['a map of exits', sends, { exits: new Map([[3, 'verify']]) }, '`exits` must be a plain object, not a Map.'],
    ['an exit that means nothing', sends, { exits: { 3: 'ok' } }, '`exits[3]` is not supported. Pass one of: "done", '],
    ['a program that writes nothing', programOf("await call('me')"), {}, 'writes nothing to the service, so nothing'],
    [
      'a program that sends nothing',
      programOf(''),
      {},
      'The program sends no request to the sandbox. Let it read SUPPORT_WORKSPACE_URL',
    ],
    ['a program that fails', programOf("console.log('Oh'); process.exit(70)"), {}, 'ended with code 70 (fix).\nOh'],
    ['an output that is not written', sends, { outputs: ['exports.csv'] }, '`exports.csv` has no line to compare'],
    ...['', '.', '..', '../x.csv', '/etc/passwd', 'a/../../x'].map((name): [string, string[], object, string] => [
      `the output ${name}`,
      sends,
      { outputs: ['a.csv', name] },
      '`outputs` must be an array of names of files',
    ]),
    ['an asynchronous `env`', sends, { env: async () => ({}) }, '`env` must be'],
    ['a folder that is not there', sends, { folder: '/no/such' }, '`folder` must be the path of a folder'],
    ['a folder that is a file', sends, { folder: 'package.json' }, '`folder` must be the path of a folder'],
    ['a working directory that is not there', sends, { cwd: '/no/such' }, '`cwd` must be the path of a folder'],
    [
      'a request that is not sent',
      sends,
      { requests: [9] },
      'unavailable@9 was never injected: the program made 1 request.',
    ],
  ])('%s', async (_, command, options, message) => {
    await expect(faultTestProgram(command, options)).rejects.toThrow(message)
  })

  test('Windows, which has no process groups', async () => {
    vi.spyOn(process, 'platform', 'get').mockReturnValue('win32')
    await expect(faultTestProgram(sends)).rejects.toThrow(
      'needs process groups, which Windows does not have. Run it on Linux',
    )
    vi.restoreAllMocks()
  })

  test('a signal ends it, and the program', async () => {
    const signal = AbortSignal.timeout(300)
    const hang = programOf(`${addContact}; if (status === 422) process.exit(70); setInterval(() => {}, 1)`)
    await expect(faultTestProgram(hang, { signal })).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})
