import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

/** Runs the Redis tests without a redis-server in the PATH. */
function runWithoutRedis(env: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(`${tmpdir()}/no-redis-`)
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const parameters = [`${root}node_modules/vitest/vitest.mjs`, 'run', 'test/connections/redis.test.ts', '--no-color']
  const { PATH: _, REQUIRE_REDIS: __, ...rest } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, parameters, {
    cwd: root,
    env: { ...rest, ...env, PATH: folder },
    encoding: 'utf8',
  })
  return { status, lines: `${stdout}${stderr}`.split('\n') }
}

const about = (lines: readonly string[]) => lines.filter((line) => line.includes('apt-get install redis-server'))

test('reports the skipped tests in one line without redis-server', () => {
  const { status, lines } = runWithoutRedis()
  expect(status).toBe(0)
  expect(about(lines)).toEqual([
    'Skipped test/connections/redis.test.ts: redis-server is not in the PATH. To run it: apt-get install redis-server. To fail without it: REQUIRE_REDIS=1.',
  ])
})

test('fails with REQUIRE_REDIS=1 and without redis-server', () => {
  const { status, lines } = runWithoutRedis({ REQUIRE_REDIS: '1' })
  expect(status).toBe(1)
  expect(lines.join('\n')).toContain('redis-server is not in the PATH')
})
