// Runs every check in turn and stops at the first that fails. `.ci/run` runs it after installing the browsers, Redis and
// Postgres. With `--long` it kills processes for half an hour instead of a minute.
import { spawnSync } from 'node:child_process'

interface Step {
  readonly title: string
  readonly command: string
  readonly env?: Readonly<Record<string, string>>
}

const killSeconds = process.argv.includes('--long') ? '450' : '15'

const steps: readonly Step[] = [
  { title: 'lint', command: 'npm run lint' },
  { title: 'types', command: 'npm run typecheck' },
  { title: 'unused code and dependencies', command: 'npm run knip' },
  { title: 'tests', command: 'npm test', env: { REQUIRE_REDIS: '1', REQUIRE_POSTGRES: '1' } },
  { title: 'documentation', command: 'npm run docs' },
  { title: 'browsers', command: 'npm run test:browser' },
  { title: 'runtimes and bundlers', command: 'npm run test:runtimes' },
  { title: 'job engines', command: 'npm run test:engines' },
  { title: 'soak', command: 'npm test -- test/trust/soak.test.ts', env: { SOAK_SECONDS: '60' } },
  {
    title: 'connections: three operations, and kills',
    command: 'npm test -- test/connections/orders.test.ts test/connections/kills.test.ts',
    env: { ORDERS: 'triples', KILL_SECONDS: killSeconds, REQUIRE_REDIS: '1', REQUIRE_POSTGRES: '1' },
  },
  { title: 'build', command: 'npm run build' },
  { title: 'package', command: 'npm run check:package' },
  { title: 'size', command: 'npm run size' },
  { title: 'fleet', command: 'npm run fleet-proof -- --ci' },
  { title: 'tour', command: 'npm start' },
]

const times: string[] = []
for (const { title, command, env } of steps) {
  console.log(`\n== ${title}`)
  const start = performance.now()
  const { status } = spawnSync(command, { shell: true, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) {
    console.error(`\nThe check failed: ${title} (${command})`)
    process.exit(1)
  }
  times.push(`${title}: ${Math.round((performance.now() - start) / 1000)} s`)
}
console.log(`\nEvery check passed.\n${times.join('\n')}`)
