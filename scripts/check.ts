// Runs the checks of each change, several at a time, and stops at the first that fails. `.ci/run` runs it after installing the
// browsers, Redis and Postgres. With `--proofs`, runs what a release needs besides, one after the other.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

interface Step {
  readonly title: string
  readonly command: string
  readonly env?: Readonly<Record<string, string>>
  /** Whether the step uses `dist`, which `npm run build` makes. Its own build is left out: `--ignore-scripts`. */
  readonly usesBuild?: boolean
}

const required = { REQUIRE_REDIS: '1', REQUIRE_POSTGRES: '1' }

// The first needs no build. Then the longest first, so that none is left over at the end.
const checks: readonly Step[] = [
  { title: 'tests', command: 'npm test', env: required },
  {
    title: 'slow tests of the guides',
    command: 'npx vitest run --config vitest.slow.config.ts test/docs',
    env: required,
    usesBuild: true,
  },
  { title: 'Chromium', command: 'npm run --ignore-scripts test:browser', usesBuild: true },
  {
    title: 'other slow tests',
    command: "npm run --ignore-scripts test:slow -- --exclude 'test/docs/**'",
    env: required,
    usesBuild: true,
  },
  {
    title: 'proofs, in their short form',
    command: 'npm run --ignore-scripts test:proofs',
    env: required,
    usesBuild: true,
  },
  { title: 'runtimes', command: 'npm run --ignore-scripts test:runtimes', usesBuild: true },
  { title: 'types', command: 'npm run typecheck' },
  { title: 'size', command: 'npm run size', usesBuild: true },
  { title: 'package', command: 'npm run check:package', usesBuild: true },
  { title: 'release, without the upload', command: 'npm run release:dry', usesBuild: true },
  { title: 'unused code and dependencies', command: 'npm run knip' },
  { title: 'lint', command: 'npm run lint' },
  { title: 'tour', command: 'npm start' },
]

const proofs: readonly Step[] = [
  { title: 'bundlers', command: 'npm run test:bundlers' },
  { title: 'job engines', command: 'npm run test:engines' },
  { title: 'OpenAPI tools', command: 'npm run test:openapi' },
  { title: 'Chromium, Firefox and the site', command: 'npm run test:browser', env: { PROOFS: 'full' } },
  { title: 'slow tests', command: 'npm run test:slow', env: { PROOFS: 'full', ...required } },
  { title: 'proofs', command: 'npm run test:proofs', env: { PROOFS: 'full', ...required } },
  { title: 'thousands of worlds of a change feed', command: 'npm test -- test/changes', env: { FEED_SEEDS: '500' } },
  { title: 'change feed: sabotages', command: 'npm run feed-sabotages' },
  { title: 'approvals: sabotages', command: 'npm run approvals-sabotages' },
  { title: 'rate limiters', command: 'npm run limiter-rows' },
  { title: 'fleet', command: 'npm run fleet-proof' },
  { title: 'fleet: sabotages', command: 'npm run fleet-sabotages' },
  { title: 'mutations', command: 'npm run mutate' },
]

const isProof = process.argv.includes('--proofs')
const steps = isProof ? proofs : checks
const waiting = [...steps]
const times: string[] = []
const built = isProof ? undefined : run({ title: 'build', command: 'npm run build' })

// Steps wait for processes and browsers a third of their time, so there is a lane more than there are processors.
const lanes = isProof ? 1 : Math.min(availableParallelism(), 3) + 1
await Promise.all(Array.from({ length: lanes }, runSteps))
console.log(`\nEvery check passed.\n${times.join('\n')}`)

async function runSteps(): Promise<void> {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    if (step.usesBuild) await built
    await run(step)
  }
}

/** Runs a step, and prints what it printed when it ends, so that steps do not mix. */
async function run({ title, command, env }: Step): Promise<void> {
  const start = performance.now()
  // Several steps work at a time, so each gets one worker.
  const environment = { ...process.env, ...(isProof ? {} : { VITEST_MAX_WORKERS: '1' }), ...env }
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'], env: environment })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const status = await new Promise((resolve) => child.once('close', resolve))
  const seconds = Math.round((performance.now() - start) / 1000)
  console.log(`\n== ${title}: ${seconds} s\n${output.trim()}`)
  if (status !== 0) {
    console.error(`\nThe check failed: ${title} (${command})`)
    process.exit(1)
  }
  times.push(`${title}: ${seconds} s`)
}
