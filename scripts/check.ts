// Runs the checks of each change, several at a time, and stops at the first that fails. `.ci/run` runs it after installing the
// browsers, Redis and Postgres. With `--proofs`, runs what a release needs besides, one after the other.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

// Each uses the build that is made before, so they leave out their own: `--ignore-scripts`. The longest come first, so that
// none is left over at the end.
const checks = [
  'npx vitest run --config vitest.slow.config.ts test/docs',
  'npm run --ignore-scripts test:browser',
  "npm run --ignore-scripts test:slow -- --exclude 'test/docs/**'",
  'npm run --ignore-scripts test:proofs',
  'npm run --ignore-scripts test:runtimes',
  'npm run typecheck',
  'npm run size',
  'npm run check:package',
  'npm run release:dry',
  'npm run knip',
  'npm run lint',
  'npm start',
]

const proofs = [
  'npm run test:bundlers',
  'npm run test:engines',
  'npm run test:openapi',
  'PROOFS=full npm run test:runtimes',
  'PROOFS=full npm run test:browser',
  'PROOFS=full npm run test:slow',
  'PROOFS=full npm run test:proofs',
  'FEED_SEEDS=500 npm test -- test/changes',
  'npm run feed-sabotages',
  'npm run approvals-sabotages',
  'npm run limiter-rows',
  'npm run fleet-proof',
  'npm run fleet-sabotages',
  'npm run mutate',
]

const isProof = process.argv.includes('--proofs')
const waiting = isProof ? proofs : checks
const times: string[] = []

if (isProof) await runAll()
else {
  // The build and the tests, which need none, take a processor each.
  const tests = run('npm test')
  await run('npm run build')
  // Steps wait for processes and browsers a third of their time, so there is one more than there are processors.
  await Promise.all([tests.then(runAll), ...Array.from({ length: Math.min(availableParallelism(), 3) }, runAll)])
}
console.log(`\nEvery check passed.\n${times.join('\n')}`)

async function runAll(): Promise<void> {
  for (let command = waiting.shift(); command !== undefined; command = waiting.shift()) await run(command)
}

/** Runs a command, and prints what it printed when it ends, so that several do not mix. */
async function run(command: string): Promise<void> {
  const start = performance.now()
  // Several work at a time, so each gets one worker.
  const one = isProof ? {} : { VITEST_MAX_WORKERS: '1' }
  const env = { ...process.env, REQUIRE_REDIS: '1', REQUIRE_POSTGRES: '1', ...one }
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'], env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const status = await new Promise((resolve) => child.once('close', resolve))
  const seconds = Math.round((performance.now() - start) / 1000)
  console.log(`\n== ${command}: ${seconds} s\n${output.trim()}`)
  if (status !== 0) {
    console.error(`\nThe check failed: ${command}`)
    process.exit(1)
  }
  times.push(`${command}: ${seconds} s`)
}
