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

/** What each folder imports of the others, by their index. All but the sandbox import any file of `shared/` and `errors/`, which import only each other. */
const folders: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  errors: [],
  'rate-limiter': [],
  core: ['rate-limiter'],
  client: ['core'],
  api: ['core'],
  storage: [],
  connections: ['client', 'core', 'rate-limiter', 'storage'],
  oauth: ['client', 'core', 'storage', 'connections'],
  otel: ['core'],
  html: [],
  approvals: ['client', 'core', 'journal', 'storage'],
  journal: ['client', 'core', 'html', 'storage'],
  changes: ['client', 'core', 'storage'],
  sandbox: [],
  'fault-test': ['client', 'core', 'html', 'storage', 'sandbox'],
  // The root index is the entry point of the package.
  cli: ['.', 'api', 'client', 'journal', 'oauth', 'sandbox', 'storage', 'fault-test'],
}

const packages = '[^/.]+$|@?[^/.]+/[^.]+$'

const rules: readonly Rule[] = [
  {
    title:
      'sandbox/ shares no fact of the service with the client, only errors, checks of options, JSON, the version, chance and types of the web',
    from: /^sandbox\//,
    only: new RegExp(
      `^(sandbox/|errors/index[.]ts$|shared/(check-options|json|version|random|web-types)[.]ts$|${packages})`,
    ),
  },
  ...Object.entries(folders)
    .filter(([folder]) => folder !== 'sandbox')
    .map(([folder, others]) => ({
      title: `${folder}/ imports ${['shared/', 'errors/', ...others.map((other) => `${other}/index`)].join(', ')}`,
      from: new RegExp(`^${folder}/`),
      only: new RegExp(
        `^(${folder}/|shared/|errors/|(storage|journal)/interface[.]ts$|(${others.map((other) => join(other, 'index[.]ts')).join('|') || '-'})$|${packages})`,
      ),
    })),
  { title: 'only otel/ imports OpenTelemetry', from: /^(?!otel\/)/, never: /^@opentelemetry\// },
]

describe('import rules', () => {
  test('there are imports to check', () => {
    expect(imports.get('index.ts')).toContain('client/client.ts')
    expect([...imports.values()].flat().length).toBeGreaterThan(200)
    expect(new Set([...imports.keys()].map((file) => dirname(file).split('/')[0]))).toEqual(
      new Set(['.', ...Object.keys(folders)]),
    )
  })

  test('each rule is about files that exist, and forbids some that do', () => {
    const named = [...imports.keys(), ...[...imports.values()].flat()]
    const idle = rules.filter(
      ({ from, never = /./ }) => ![from, never].every((one) => named.some((path) => one.test(path))),
    )
    expect(idle.map(({ title }) => title)).toEqual([])
  })

  test.each(rules.map((rule) => [rule.title, rule] as const))('%s', (_, rule) => {
    expect(breachesOf(rule)).toEqual([])
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

function importsOf(file: string, text: string): string[] {
  return ts
    .preProcessFile(text)
    .importedFiles.map(({ fileName }) =>
      fileName.startsWith('.') ? join(dirname(file), fileName).replaceAll('\\', '/') : fileName,
    )
}
