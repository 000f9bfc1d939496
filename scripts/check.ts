// Runs every check in turn and stops at the first that fails. `.ci/run` runs it after installing the browsers, Redis and
// Postgres. With `--proofs`, runs what is slow by design instead: a release does.
import { spawnSync } from 'node:child_process'

interface Step {
  readonly title: string
  readonly command: string
  readonly env?: Readonly<Record<string, string>>
}

const required = { REQUIRE_REDIS: '1', REQUIRE_POSTGRES: '1' }

const checks: readonly Step[] = [
  { title: 'lint', command: 'npm run lint' },
  { title: 'types', command: 'npm run typecheck' },
  { title: 'unused code and dependencies', command: 'npm run knip' },
  { title: 'tests', command: 'npm test', env: required },
  { title: 'documentation', command: 'npm run docs' },
  { title: 'browsers', command: 'npm run test:browser' },
  { title: 'runtimes and bundlers', command: 'npm run test:runtimes' },
  { title: 'job engines', command: 'npm run test:engines' },
  { title: 'soak', command: 'npm test -- test/trust/soak.test.ts', env: { SOAK_SECONDS: '60' } },
  {
    title: 'connections: processes killed',
    command: 'npm test -- test/connections/kills.test.ts',
    env: { KILL_SECONDS: '10', ...required },
  },
  { title: 'build', command: 'npm run build' },
  { title: 'package', command: 'npm run check:package' },
  { title: 'size', command: 'npm run size' },
  { title: 'fleet', command: 'npm run fleet-proof -- --ci' },
  { title: 'tour', command: 'npm start' },
]

const proofs: readonly Step[] = [
  {
    title: 'connections: all orders of three operations, and processes killed for half an hour',
    command: 'npm test -- test/connections/orders.test.ts test/connections/kills.test.ts',
    env: { ORDERS: 'triples', KILL_SECONDS: '450', ...required },
  },
  { title: 'soak', command: 'npm test -- test/trust/soak.test.ts', env: { SOAK_SECONDS: '600' } },
  { title: 'rate limiters', command: 'npm run limiter-rows' },
  { title: 'fleet', command: 'npm run fleet-proof' },
  { title: 'mutations', command: 'npm run mutate' },
]

const times: string[] = []
for (const { title, command, env } of process.argv.includes('--proofs') ? proofs : checks) {
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
