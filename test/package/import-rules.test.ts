import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const source = fileURLToPath(new URL('../../src/', import.meta.url))

/** The imports and re-exports of each file of `src`, types included. Files of `src` are named by their path in it. */
const imports = new Map(
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path, importsOf(path, readFileSync(join(source, path), 'utf8'))]),
)

interface Rule {
  readonly title: string
  /** Files that the rule is about. */
  readonly from: RegExp
  /** Everything that they may import, or everything that they may not. */
  readonly only?: RegExp
  readonly never?: RegExp
}

/** Matches these files and folders of the sandbox, and the packages that it uses. */
function sandboxParts(...parts: readonly string[]): RegExp {
  return new RegExp(`^(sandbox/(${parts.join('|')})|node:|hono|@hono/|zod/mini$|msw$)`)
}

const sharedFiles = '(addresses|app-env|html-page|http|request-log|sandbox-options|service)[.]ts'
const belowShared = ['data/', 'schema[.]ts']
const belowServer = [sharedFiles, ...belowShared]

/** The layers of the sandbox, as listed in src/sandbox.ts, from the bottom up: what else each may import, besides itself. */
const sandboxLayers: [layer: string, imports: readonly string[]][] = [
  ['data/', ['random[.]ts']],
  ['faults/', ['schema[.]ts', 'random[.]ts', 'app-env[.]ts']],
  [sharedFiles, ['faults/', ...belowShared]],
  ['oauth/', belowServer],
  ['operations/', belowServer],
  ['console/', ['faults/', ...belowServer]],
  ['server/', ['oauth/', 'operations/', 'faults/', ...belowServer]],
]

const rules: readonly Rule[] = [
  {
    title: 'errors/ imports only errors/, bytes and web-types',
    from: /^errors\//,
    only: /^(errors\/|(bytes|web-types)\.ts$)/,
  },
  { title: 'models/ imports only models/ and actor', from: /^models\//, only: /^(models\/|actor\.ts$)/ },
  {
    title: 'schemas/ imports only schemas/, models/ and schema libraries',
    from: /^schemas\//,
    only: /^(schemas\/|models\/|zod\/mini$|@standard-schema\/spec$)/,
  },
  { title: 'only lazy-schemas imports schemas/', from: /^(?!lazy-schemas\.ts$|schemas\/)/, never: /^schemas\// },
  {
    title: 'http/ does not import what calls it',
    from: /^http\//,
    never: /^(resources|oauth|connections|sandbox)\/|^(client|call|call-operation|pagination)\.ts$/,
  },
  {
    title: 'oauth/ does not import the client, resources, connections or the sandbox',
    from: /^oauth\//,
    never: /^(resources|connections|sandbox)\/|^client\.ts$/,
  },
  { title: 'only the entry point journal imports journal/', from: /^(?!journal(\/|\.ts$))/, never: /^journal\// },
  {
    title: 'journal/ does not import logins, the sandbox or the connection store',
    from: /^journal\//,
    never: /^(oauth|sandbox)\/|^connections\/(?!(storage|guarded-storage|turns)\.ts$)/,
  },
  { title: 'connections/ does not import the sandbox', from: /^connections\//, never: /^sandbox\// },
  {
    title: 'sandbox/ imports nothing else of this package, except its version and the types of the web',
    from: /^sandbox(\/|\.ts$)/,
    only: /^(sandbox\/|(version|web-types)\.ts$|node:|(hono|@hono\/node-server|zod\/mini|msw)(\/|$))/,
  },
  { title: 'only the entry point sweep imports sweep/', from: /^(?!sweep(\/|\.ts$))/, never: /^sweep\// },
  { title: 'sandbox/schema imports only zod', from: /^sandbox\/schema\.ts$/, only: /^zod\/mini$/ },
  ...sandboxLayers.map(([layer, imports]) => ({
    title: `sandbox/${layer} imports only lower layers`,
    from: new RegExp(`^sandbox/${layer}`),
    only: sandboxParts(layer, ...imports),
  })),
  { title: 'only the entry point otel imports OpenTelemetry', from: /^(?!otel\.ts$)/, never: /^@opentelemetry\// },
  {
    title: 'no file imports an entry point',
    from: /^/,
    never: /^((index|journal|oauth|otel|sandbox|storage|storage-tests|sweep|sandbox\/cli)\.ts$|support-workspace-sdk)/,
  },
]

describe('import rules', () => {
  test('there are imports to check', () => {
    expect(imports.get('index.ts')).toContain('client.ts')
    expect([...imports.values()].flat().length).toBeGreaterThan(200)
  })

  test.each(rules.map((rule) => [rule.title, rule] as const))('%s', (_, rule) => {
    expect(breachesOf(rule)).toEqual([])
  })

  test('files do not import each other in a cycle', () => {
    expect(cycles()).toEqual([])
  })
})

function breachesOf({ from, only, never }: Rule): string[] {
  return [...imports]
    .filter(([file]) => from.test(file))
    .flatMap(([file, imported]) =>
      imported
        .filter((path) => (only !== undefined && !only.test(path)) || never?.test(path))
        .map((path) => `${file} → ${path}`),
    )
}

/** Returns one path for each file at which a walk along the imports meets itself. */
function cycles(): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start !== -1) found.push([...path.slice(start), file].join(' → '))
    if (start !== -1 || done.has(file)) return
    for (const imported of imports.get(file) ?? []) walk(imported, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) walk(file, [])
  return found
}

function importsOf(file: string, text: string): string[] {
  return ts
    .preProcessFile(text)
    .importedFiles.map(({ fileName }) =>
      fileName.startsWith('.') ? join(dirname(file), fileName).replaceAll('\\', '/') : fileName,
    )
}
