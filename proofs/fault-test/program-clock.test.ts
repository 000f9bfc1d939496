import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SharedNumbers } from '../../src/fault-test/program/clock-file.ts'
import { isFull } from '../is-full.ts'

const preload = new URL('../../src/fault-test/program/preload.ts', import.meta.url)
const start = Date.UTC(2026, 0, 5)
const hour = 3_600_000

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'program-clock-'))
})
afterAll(() => rm(folder, { recursive: true }))

let files = 0

/** Runs a program with the preloaded clock. Returns what it printed, and the simulated milliseconds that it took. */
async function run(code: string, extension = 'mjs'): Promise<{ printed: string; passed: number }> {
  files += 1
  const [program, shared] = [join(folder, `${files}.${extension}`), join(folder, `${files}`)]
  await writeFile(program, code)
  const numbers = SharedNumbers.create(shared, start)
  const env = { ...process.env, NODE_OPTIONS: `--import=${preload}`, SUPPORT_WORKSPACE_FAULT_TEST: shared }
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env, timeout: 60_000 })
  const passed = numbers.now - start
  numbers.close()
  return { printed: stdout.trim(), passed }
}

describe('an hour passes at once with', () => {
  test.each([
    ['setTimeout', 'mjs', `setTimeout(() => console.log(new Date().getUTCHours()), ${hour})`],
    [
      'node:timers/promises',
      'mjs',
      `import { setTimeout as wait } from 'node:timers/promises'; await wait(${hour}); console.log(new Date().getUTCHours())`,
    ],
    [
      'a promisified setTimeout that a module keeps, in CommonJS',
      'cjs',
      `const wait = require('node:util').promisify(setTimeout); wait(${hour}).then(() => console.log(new Date().getUTCHours()))`,
    ],
    [
      'a timer of a Node child',
      'mjs',
      `import { execFileSync } from 'node:child_process'
      console.log(Number(execFileSync(process.execPath, ['-e', 'setTimeout(() => console.log(new Date().getUTCHours()), ${hour})'])))`,
    ],
    [
      'an interval, while a parent waits for it with a timeout',
      'mjs',
      `import { exec } from 'node:child_process'
      const code = 'let count = 0; setInterval(() => { if (++count === 60) { console.log(new Date().getUTCHours()); process.exit() } }, 60000)'
      exec(JSON.stringify(process.execPath) + ' -e "' + code + '"', { timeout: ${2 * hour} }, (_, out) => console.log(out.trim()))`,
    ],
  ])('%s', async (_, extension, code) => {
    const { printed, passed } = await run(code, extension)
    expect(printed).toBe('1')
    expect(passed).toBeGreaterThanOrEqual(hour)
    expect(passed).toBeLessThan(1.5 * hour)
  })
})

describe.runIf(isFull)('a timeout of 30 seconds does not fire during', () => {
  test.each([
    [
      'a key that takes long',
      `const { pbkdf2 } = await import('node:crypto'); await promisify(pbkdf2)('a', 'b', 400_000, 64, 'sha512')`,
    ],
    ['a digest', `await crypto.subtle.digest('SHA-256', new Uint8Array(5e7))`],
    ['compression', `const { gzip } = await import('node:zlib'); await promisify(gzip)(Buffer.alloc(3e7, 'abc'))`],
    ['a file', `const { readFile } = await import('node:fs/promises'); await readFile(process.execPath)`],
    ['a name', `const { lookup } = await import('node:dns/promises'); await lookup('localhost')`],
    [
      'a child of another kind',
      `const { execFile } = await import('node:child_process'); await promisify(execFile)('sleep', ['0.3'])`,
    ],
    [
      'a thread',
      `const { Worker } = await import('node:worker_threads'); await new Promise((end) => new Worker('setTimeout(() => {}, 200)', { eval: true }).on('exit', end))`,
    ],
    [
      'a database',
      `const { DatabaseSync } = await import('node:sqlite'); new DatabaseSync(':memory:').exec('CREATE TABLE items (id)')`,
    ],
    [
      'a module hook',
      `const { register } = await import('node:module'); register('data:text/javascript,'); await import('node:http')`,
    ],
  ])('%s', async (_, code) => {
    const { printed } = await run(`import { promisify } from 'node:util'
      const timer = setTimeout(() => console.log('fired'), 30_000)
      ${code}
      clearTimeout(timer)
      console.log('done')`)
    expect(printed).toBe('done')
  })
})

test.runIf(isFull)('a program ends that only has timers which do not keep it', async () => {
  const { printed, passed } = await run(`setTimeout(() => console.log('late'), ${hour}).unref(); console.log('here')`)
  expect(printed).toBe('here')
  expect(passed).toBeLessThan(hour)
})

test('of two processes, one jumps when the other is idle as well', async () => {
  const { printed } = await run(`import { spawn } from 'node:child_process'
    import { once } from 'node:events'
    const run = (code) => spawn(process.execPath, ['-e', code])
    const busy = run("console.log('busy'); require('crypto').pbkdf2('a', 'b', 300000, 64, 'sha512', () => console.log(new Date().getUTCHours()))")
    await once(busy.stdout, 'data')
    const hour = once(busy.stdout, 'data')
    await once(run('setTimeout(() => {}, ${5 * hour})'), 'exit')
    console.log(String(await hour).trim(), new Date().getUTCHours())`)
  expect(printed).toBe('0 5')
})

test.runIf(isFull)('each process of a program draws other random numbers', async () => {
  const draw = 'console.log(Math.random())'
  const { printed } = await run(`${draw}
    const { execFileSync } = await import('node:child_process')
    process.stdout.write(execFileSync(process.execPath, ['-e', '${draw}']))`)
  expect(new Set(printed.split('\n')).size).toBe(2)
})

test.runIf(isFull)('random numbers repeat, and an error in a timer ends the program as ever', async () => {
  const draw = async () => (await run('console.log(Math.random(), Math.random())')).printed
  expect(await draw()).toBe(await draw())
  await expect(run(`setTimeout(() => { throw new Error('Broken') }, ${hour})`)).rejects.toThrow('Error: Broken')
})
