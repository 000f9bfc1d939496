// Writes the software bill of materials of the package (CycloneDX 1.6): what is installed with it, and what its build carries,
// which the audit of a user's lockfile cannot see.
//
//   npm run build && node scripts/sbom.ts artifacts/sbom.json
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest

/** Returns the names in `third-party-licenses.txt`, which the build writes. Each text begins with one. */
export function carriedPackages(licenses: string): string[] {
  return licenses.split(`\n${'-'.repeat(80)}\n\n`).map((text) => text.slice(0, text.indexOf('\n')))
}

/** Returns the bill of materials, with a property that says how each component comes to the user. */
export function billOfMaterials(carried: readonly string[]) {
  const main = manifestOf('.')
  const installed = new Set(Object.keys(main.dependencies ?? {}))
  for (const name of installed) {
    for (const other of Object.keys(manifestOf(`node_modules/${name}`).dependencies ?? {})) installed.add(other)
  }
  const names = [...new Set([...installed, ...carried])].sort()
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: componentOf(main, 'library') },
    components: names.map((name) => ({
      ...componentOf(manifestOf(`node_modules/${name}`), 'library'),
      properties: [
        ...(installed.has(name) ? [{ name: 'delivery', value: 'installed' }] : []),
        ...(carried.includes(name) ? [{ name: 'delivery', value: 'bundled' }] : []),
      ],
    })),
  }
}

function componentOf({ name, version, license }: Manifest, type: string) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return { type, 'bom-ref': purl, name, version, purl, ...(license && { licenses: [{ license: { id: license } }] }) }
}

if (import.meta.main) {
  const out = process.argv[2] ?? join(root, 'artifacts/sbom.json')
  const carried = carriedPackages(readFileSync(join(root, 'dist/third-party-licenses.txt'), 'utf8'))
  mkdirSync(dirname(out), { recursive: true })
  writeFileSync(out, `${JSON.stringify(billOfMaterials(carried), null, 2)}\n`)
  console.log(`${out}: ${carried.length} bundled packages.`)
}
