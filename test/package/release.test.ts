import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFile(join(root, path), 'utf8')

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'release-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** Returns the text of each job of the release workflow by its name. */
async function releaseJobs(): Promise<Record<string, string>> {
  const [, jobs = ''] = (await read('.github/workflows/release.yml')).split('\njobs:\n')
  return Object.fromEntries([...jobs.matchAll(/^ {2}(\w+):\n((?: {4}.*\n|\n)+)/gm)].map(([, name, job]) => [name, job]))
}

function run(cwd: string, program: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  return { status, output: `${stdout}${stderr}` }
}

describe('the check before a release', () => {
  const complete = {
    repository: { type: 'git', url: 'git+https://code.example/sdk.git' },
    homepage: 'https://code.example/sdk',
    bugs: 'https://code.example/sdk/issues',
  }
  const reporting = '# Security\n\n## Reporting\n\nWrite to security@code.example.\n\n## Supported versions\n'

  async function check(fields: object, security: string) {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'package.json'), JSON.stringify(fields))
    await writeFile(join(folder, 'SECURITY.md'), security)
    return run(root, process.execPath, 'scripts/check-release.ts', folder)
  }

  test('passes if every address is there', async () => {
    expect(await check(complete, reporting)).toEqual({ status: 0, output: '' })
  })

  test.each([
    ['repository', { ...complete, repository: undefined }, reporting, '`repository` in package.json'],
    ['homepage', { ...complete, homepage: '' }, reporting, '`homepage` in package.json'],
    ['address for bugs', { ...complete, bugs: {} }, reporting, '`bugs` in package.json'],
    [
      'address for vulnerabilities',
      complete,
      '# Security\n\n## Reporting\n\nPrivately.\n\n## Other\n\na@b.example\n',
      'SECURITY.md',
    ],
    ['section for vulnerabilities', complete, '# Security\n\nhttps://code.example\n', 'SECURITY.md'],
  ])('names a missing %s', async (_, fields, security, words) => {
    const { status, output } = await check(fields, security)
    expect(status).toBe(1)
    expect(output.split('\n').filter((line) => line.startsWith('- '))).toEqual([expect.stringContaining(words)])
    expect(output).toContain('See CONTRIBUTING.md, "Before the first release".')
  })

  test('runs before anything is published, as do the proofs', async () => {
    const { pack = '', proofs = '', publish = '' } = await releaseJobs()
    expect(pack.indexOf('npm run check:release')).toBeGreaterThan(0)
    expect(pack.indexOf('npm run check:release')).toBeLessThan(pack.indexOf('npm pack'))
    expect(publish).toContain('needs: [pack, proofs]\n')
    expect(proofs).toContain('- run: npm run proofs\n')
    const { scripts } = JSON.parse(await read('package.json'))
    expect(scripts.prepublishOnly).toMatch(/^npm run check:release && /)
  })
})

describe('the release workflow', () => {
  const jobsWith = async (text: string) =>
    Object.entries(await releaseJobs()).flatMap(([name, job]) => (job.includes(text) ? [name] : []))

  test('can publish only in a job that runs no code of the repository or its dependencies', async () => {
    expect(await jobsWith('id-token: write')).toEqual(['publish'])
    const { publish = '' } = await releaseJobs()
    const steps = [...publish.matchAll(/^ +- (?:uses|run): (.+)$/gm)].map(([, step]) => step)
    expect(steps).toEqual([
      expect.stringMatching(/^actions\/setup-node@/),
      expect.stringMatching(/^actions\/download-artifact@/),
      expect.stringMatching(/^npm publish \.\/support-workspace-sdk-\*\.tgz --ignore-scripts /),
    ])
  })

  test('builds and tests without write permissions', async () => {
    const writers = await jobsWith(': write')
    expect(writers).toEqual(['version', 'publish', 'tag'])
    for (const code of ['npm run build', 'npm pack', 'workflows/ci.yml']) {
      const jobs = await jobsWith(code)
      expect(jobs, code).toHaveLength(1)
      expect(writers, code).not.toContain(jobs[0])
    }
  })

  test('collects changesets without the permission to publish, and only if there are any', async () => {
    const { version = '' } = await releaseJobs()
    expect(await jobsWith('changesets/action@')).toEqual(['version'])
    expect(version).toMatch(/- if: hashFiles\('\.changeset\/\*\.md', .*\) != ''\n +uses: changesets\/action@/)
  })
})

test('a changeset becomes the next version, in every file that has one', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'src'))
  for (const path of ['package.json', 'src/shared/version.ts', 'scripts', '.changeset']) {
    await cp(join(root, path), join(folder, path), { recursive: true })
  }
  await writeFile(join(folder, 'CHANGELOG.md'), '# Changelog\n\n## 0.1.0\n\n- The first.\n')
  for (const file of await readdir(join(folder, '.changeset'))) {
    if (/^(?!README).*\.md$/.test(file)) await rm(join(folder, '.changeset', file))
  }
  await writeFile(
    join(folder, '.changeset', 'next.md'),
    "---\n'support-workspace-sdk': major\n---\n\nDoes something new.\n",
  )
  run(folder, 'git', 'init', '--quiet', '--initial-branch=main')
  const versioned = run(folder, process.execPath, join(root, 'node_modules/@changesets/cli/bin.js'), 'version')
  expect(versioned).toMatchObject({ status: 0 })
  expect(run(folder, process.execPath, 'scripts/sync-version.ts')).toEqual({ status: 0, output: '' })
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const before = Number(JSON.parse(await read('package.json')).version.split('.')[0])
  expect(version).toBe(`${before + 1}.0.0`)
  expect(await readFile(join(folder, 'src/shared/version.ts'), 'utf8')).toContain(`version = '${version}'`)
  const changelog = await readFile(join(folder, 'CHANGELOG.md'), 'utf8')
  expect(changelog).toMatch(/^# Changelog\n\n## \d+\.0\.0\n[\s\S]*Does something new\.[\s\S]*## 0\.1\.0/)
})

test('CI runs the gate, and the gate runs the same checks as a developer', async () => {
  expect(await read('.github/workflows/ci.yml')).toContain('- run: .ci/run\n')
  expect(await read('.ci/run')).toContain('\nnpm run check\n')
})

describe('npm run check', () => {
  /** Runs the checks with an `npm` that only prints its arguments, and fails for the given ones. */
  async function check(failing: string, ...args: string[]) {
    const folder = await temporaryFolder()
    const npm =
      '#!/bin/sh\necho "npm $* SERVERS=$REQUIRE_REDIS$REQUIRE_POSTGRES SOAK=$SOAK_SECONDS$ORDERS$KILL_SECONDS"\ntest "$*" != "$FAILING"\n'
    await writeFile(join(folder, 'npm'), npm, { mode: 0o755 })
    const { REQUIRE_REDIS, REQUIRE_POSTGRES, SOAK_SECONDS, ORDERS, KILL_SECONDS, ...env } = process.env
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/check.ts', ...args], {
      cwd: root,
      env: { ...env, PATH: `${folder}:${env.PATH}`, FAILING: failing },
      encoding: 'utf8',
    })
    return { status, stderr, ran: stdout.split('\n').filter((line) => line.startsWith('npm ')) }
  }

  test('builds first, and runs everything, with Redis and Postgres required and a soak', async () => {
    const { status, ran } = await check('none')
    expect(status).toBe(0)
    expect(ran).toContain('npm test SERVERS=11 SOAK=')
    expect(ran).toContain('npm run test:slow SERVERS=11 SOAK=153')
    expect(ran).toContain('npm run fleet-proof -- --short SERVERS= SOAK=')
    const positions = ['build', '--ignore-scripts test:browser', 'size'].map((name) =>
      ran.indexOf(`npm run ${name} SERVERS= SOAK=`),
    )
    expect(positions).toEqual(positions.toSorted((one, other) => one - other))
    expect(positions[0]).toBeGreaterThanOrEqual(0)
  })

  test('with --proofs runs what is slow by design instead', async () => {
    const { status, ran } = await check('none', '--proofs')
    expect(status).toBe(0)
    expect(ran).toContain('npm test -- test/connections/orders.test.ts SERVERS= SOAK=triples')
    expect(ran).toContain('npm run test:proof SERVERS=11 SOAK=600450')
    expect(ran.at(-1)).toBe('npm run mutate SERVERS= SOAK=')
  })

  test('stops at the first check that fails', async () => {
    const { status, stderr, ran } = await check('run build')
    expect(status).toBe(1)
    expect(stderr).toContain('The check failed: build (npm run build)')
    expect(ran.length).toBeLessThan(5)
  })
})

test('every npm script that the workflows, the checks and CONTRIBUTING name exists', async () => {
  const { scripts } = JSON.parse(await read('package.json'))
  const files = [
    'CONTRIBUTING.md',
    '.ci/run',
    'scripts/check.ts',
    '.github/workflows/ci.yml',
    '.github/workflows/release.yml',
    '.github/pull_request_template.md',
  ]
  const names = (await Promise.all(files.map(read))).flatMap((text) =>
    [...text.matchAll(/npm run (?:--ignore-scripts )?([\w:-]+)/g)].map(([, name = '']) => name),
  )
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => scripts[name] === undefined)).toEqual([])
})
