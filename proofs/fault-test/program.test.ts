import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { faultTestProgram } from '../../src/fault-test/index.ts'
import {
  addContact,
  attemptsOf,
  byStatus,
  failuresOf,
  faultTestPlanted,
  programOf,
} from '../../test/fault-test/programs.ts'
import { isFull } from '../is-full.ts'

test.runIf(isFull)('starts a program again by its exit code', async () => {
  const only = ['unavailable', 'unavailable-from-here', 'revoked', 'reset-after-effect', 'killed-after-effect']
  expect(await attemptsOf(byStatus, { only: only.map((fault) => `${fault}@1`) })).toEqual({
    'unavailable@1': '75 (retry), 0 (done)',
    'unavailable-from-here@1': '75 (retry), 75 (retry), 75 (retry), 75 (retry)',
    'revoked@1': '77 (reconnect), 0 (done)',
    'reset-after-effect@1': '65 (verify)',
    'killed-after-effect@1': 'was killed, 0 (done)',
  })
})

test('a refused connection is injected if it was chosen', async () => {
  expect(await attemptsOf(byStatus, { faults: ['refused'] })).toEqual({ 'refused@1': '65 (verify)' })
})

test.runIf(isFull)('`exits` says what other codes mean, and a crash without a fault is a failure', async () => {
  const code = `${addContact}; process.exit(status === 201 ? 0 : 3)`
  const only = ['unavailable@1', 'killed-after-effect@1']
  const report = await faultTestProgram(programOf(code), { only })
  expect(failuresOf(report)).toEqual(['killed-after-effect@1 stuck'])
  expect(String(report)).toContain('and yet the program gave up with')
  expect(String(report)).toContain('The program was killed, then ended with code 3 (a crash), then ended with code 3')
  expect(failuresOf(await faultTestProgram(programOf(code), { only, exits: { 3: 'verify' } }))).toEqual([])
})

test.runIf(isFull)('each run has a copy of the folder, whose outputs are compared line by line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'program-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'out.txt'), 'first\n')
  const append = `if (await call('me') !== 200) process.exit(75)
    fs.appendFileSync(folder + '/out.txt', 'second\\n')
    console.log('Appended.')
    if (await call('me') !== 200) process.exit(75)`
  const folders: string[] = []
  const report = await faultTestProgram(programOf(append), {
    folder,
    outputs: ['out.txt'],
    only: ['unavailable@1', 'unavailable@2', 'killed-in-file-write@1'],
    async check(sandbox, outcome) {
      expect(sandbox.requests[0]?.headers).toMatchObject({ 'user-agent': 'node' })
      folders.push(outcome.folder)
      expect(sandbox.state.writes).toEqual([])
      expect(await readFile(join(outcome.folder, 'out.txt'), 'utf8')).toContain('first\n')
      if (outcome.attempts.length === 1) expect(outcome.output).toBe('Appended.\n')
    },
  })
  expect(failuresOf(report)).toEqual([
    'unavailable@2 doubled',
    'killed-in-file-write@1 lost',
    'killed-in-file-write@1 extra',
  ])
  expect(String(report)).toContain('out.txt has too often second')
  expect(String(report)).toContain('\n  It printed last:\n    Appended.\n    Appended.\n')
  expect(new Set(folders).size).toBe(5)
  expect(await readFile(join(folder, 'out.txt'), 'utf8')).toBe('first\n')
})

describe('a folder with links', () => {
  const createFolder = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'program-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    return folder
  }

  test('is copied with its links, so that a run changes no original', async () => {
    const [folder, library] = [await createFolder(), await createFolder()]
    await writeFile(join(library, 'index.js'), 'library')
    await writeFile(join(folder, 'data'), 'first')
    await mkdir(join(folder, 'below'))
    await mkdir(join(folder, 'node_modules'))
    await symlink('../data', join(folder, 'below', 'relative'))
    await symlink(join(folder, 'data'), join(folder, 'absolute'))
    await symlink(relative(join(folder, 'node_modules'), library), join(folder, 'node_modules', 'library'))
    const code = `for (const name of ['below/relative', 'absolute']) fs.appendFileSync(folder + '/' + name, name)
      if (fs.readFileSync(folder + '/node_modules/library/index.js', 'utf8') !== 'library') process.exit(1)
      ${byStatus}`
    const contents: string[] = []
    await faultTestProgram(programOf(code), {
      folder,
      only: ['reset-after-effect@1'],
      check: async (_, outcome) => void contents.push(await readFile(join(outcome.folder, 'data'), 'utf8')),
    })
    expect(contents[0]).toBe('firstbelow/relativeabsolute')
    expect(await readFile(join(folder, 'data'), 'utf8')).toBe('first')
  })

  test.each(['../outside', '/etc/hostname'])('is refused if a link leads to %s', async (target) => {
    const folder = await createFolder()
    await mkdir(join(folder, 'below'))
    await symlink(target === '../outside' ? `../${target}` : target, join(folder, 'below', 'link'))
    await expect(faultTestProgram(programOf(byStatus), { folder })).rejects.toThrow(
      /has a link that leads out of it: below\/link\. .* Replace the link by a copy of its target\./,
    )
  })
})

test('a kill ends all processes of a program before it is started again', async () => {
  const leaveChild = `import { spawn, spawnSync } from 'node:child_process'
    const file = folder + '/pid'
    if (fs.existsSync(file)) {
      const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', fs.readFileSync(file, 'utf8')])
      if (!/^(Z|$)/.test(String(stdout))) process.exit(70)
    }
    const child = spawn('sleep', ['60'])
    fs.writeFileSync(file, String(child.pid))
    ${addContact}
    child.kill()`
  expect(await attemptsOf(leaveChild, { only: ['killed-before-request@1'] })).toEqual({
    'killed-before-request@1': 'was killed, 0 (done)',
  })
})

const fileWrites = [
  ['appendFileSync', "fs.appendFileSync(file, 'second')"],
  ['writeFileSync with the flag a', "fs.writeFileSync(file, 'second', { flag: 'a' })"],
  ['appendFile with a callback', "await new Promise((done) => fs.appendFile(file, 'second', done))"],
  ['appendFile of promises', "await fs.promises.appendFile(file, 'second')"],
  ['writeSync of a part of a buffer', "fs.writeSync(fs.openSync(file, 'a'), Buffer.from('a second one'), 2, 6)"],
  ['writevSync', "fs.writevSync(fs.openSync(file, 'a'), [Buffer.from('sec'), Buffer.from('ond')])"],
  ['writev of a handle', "await (await fs.promises.open(file, 'a')).writev([Buffer.from('sec'), Buffer.from('ond')])"],
  ['appendFile to a handle', "await fs.promises.appendFile(await fs.promises.open(file, 'a'), 'second')"],
  ['a handle at a position', "await (await fs.promises.open(file, 'r+')).write('second', 6)"],
] as const

test.each(isFull ? fileWrites : fileWrites.slice(-1))(
  'a kill in the middle of %s leaves what was there, and half of the new text',
  async (_, write) => {
    const code = `const file = folder + '/text'
    if (fs.existsSync(file)) { console.log(fs.readFileSync(file, 'utf8').trim()); process.exit() }
    ${addContact}
    fs.writeFileSync(file, 'first\\n')
    ${write}`
    const { runs } = await faultTestProgram(programOf(code), { only: ['killed-in-file-write@2'] })
    expect(runs.map(({ output }) => output)).toEqual([['first', 'sec']])
  },
)

test.runIf(isFull)('`env` adds variables, and never leaves the program with the service of this process', async () => {
  vi.stubEnv('SUPPORT_WORKSPACE_URL', 'http://127.0.0.1:1')
  onTestFinished(() => void vi.unstubAllEnvs())
  const print = `${addContact}; console.log(process.env.DEBUG, new URL(url).port !== '1')`
  const { runs } = await faultTestProgram(programOf(print), { only: ['late-effect@1'], env: () => ({ DEBUG: 'x' }) })
  expect(runs.map(({ output }) => output.at(-1))).toEqual(['x true'])
})

test.runIf(isFull)('lines whose order differs are compared', async () => {
  const code = `${addContact}
    const lines = ['one', status === 201 ? 'two' : 'WRONG']
    if (new Date().getUTCDate() % 2 === 0) lines.reverse()
    fs.writeFileSync(folder + '/out.txt', lines.join('\\n'))`
  const report = await faultTestProgram(programOf(code), { outputs: ['out.txt'], only: ['unavailable@1'] })
  expect(report.failures[0]?.judgements.map(({ subject }) => subject)).toContain('out.txt')
})

const loops = [
  ['polls', 'setInterval(() => {}, 600_000)', '24 simulated hours'],
  ['listens', "(await import('node:http')).createServer().listen(0)", '24 simulated hours'],
  ['sends', "for (;;) await call('me')", '1020 requests'],
] as const

test.each(isFull ? loops : loops.slice(0, 1))('never-ends: a program that %s for ever', async (_, loop, why) => {
  const code = `${addContact}; if (status !== 201) ${loop}`
  expect(await attemptsOf(code, { only: ['unavailable@1'] })).toEqual({ 'unavailable@1': `was stopped after ${why}` })
})

test.runIf(isFull)('a late effect comes before the first request after it', async () => {
  const look = `import { setTimeout as wait } from 'node:timers/promises'
    const count = async () => (await (await fetch(url + '/api/oauth/v1/contacts', { headers })).json()).data.length
    const before = await count()
    ${addContact}
    const soon = await count()
    await wait(6_000)
    console.log(await count() - soon, soon - before)
    process.exit(status === 201 ? 0 : 65)`
  const report = await faultTestProgram(programOf(look), { only: ['late-effect@2', 'reset-after-effect@2'] })
  expect(report.runs.map(({ output }) => output)).toEqual([['1 0'], ['0 1']])
})

test('waits take no time, also for a response that stalls', async () => {
  const wait = `const date = Date.now()
    ${addContact.replace('{ email', "{ name: 'Ada', email")}
    const get = await fetch(url + '/api/oauth/v1/me', { headers, signal: AbortSignal.timeout(3_600_000) })
    const end = await get.text().catch(({ name }) => name)
    console.log(end.slice(0, 12), Math.round((Date.now() - date) / 3_600_000))`
  const { runs } = await faultTestProgram(programOf(wait), { only: ['stalled@2', 'rate-limited@2'] })
  expect(runs.map(({ output }) => output)).toEqual([['TypeError 0'], ['{"error":"ra 0']])
})

test.runIf(isFull)('what somebody wrote while the program lived is unseen', async () => {
  const only = ['customer-writes@4', 'colleague-closes@4', 'colleague-writes-while-limited@4']
  const sandbox = { conversations: 2, contacts: 3 }
  expect(failuresOf(await faultTestPlanted('reply-checked-early.mjs', { only, unseen: 'reported', sandbox }))).toEqual([
    'customer-writes@4 unseen',
    'colleague-writes-while-limited@4 unseen',
  ])
})
