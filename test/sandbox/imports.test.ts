import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = join(dirname(fileURLToPath(import.meta.url)), '../../src/sandbox')
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'))

/** The layers from the top down, as listed in src/sandbox.ts. A layer's parts must not import each other. */
const layers = [
  ['.'],
  ['server'],
  ['oauth', 'operations'],
  ['service.ts', 'incoming-request.ts', 'http-error.ts', 'sandbox-settings.ts', 'sandbox-options.ts'],
  ['data', 'faults', 'check-values.ts'],
]
// The shared files of one layer, and a check that faults/ uses, are the imports within a layer.
const withinLayer = /^(service|incoming-request|sandbox-settings)\.ts > |^faults > check-values\.ts$/

function importsOf(file: string): string[] {
  const specifiers = readFileSync(join(root, file), 'utf8').matchAll(/ from '(\.[^']+)'/g)
  return [...specifiers].map(([, specifier = '']) => posix.join(posix.dirname(file), specifier))
}

function partOf(file: string): string {
  const [first = ''] = file.split('/')
  return layers.flat().includes(first) ? first : '.'
}

const depthOf = (part: string) => layers.findIndex((parts) => parts.includes(part))

test.each(files)('%s imports only lower layers of the sandbox', (file) => {
  const part = partOf(file)
  const wrong = importsOf(file).filter((imported) => {
    if (imported.startsWith('..')) return imported !== '../web-types.ts'
    const other = partOf(imported)
    return other !== part && depthOf(other) <= depthOf(part) && !withinLayer.test(`${part} > ${other}`)
  })
  expect(wrong).toEqual([])
})

test('no files of the sandbox import each other in a cycle', () => {
  const remaining = new Map(files.map((file) => [file, importsOf(file).filter((imported) => files.includes(imported))]))
  const withoutImports = () => [...remaining].filter(([, imports]) => !imports.some((file) => remaining.has(file)))
  for (let batch = withoutImports(); batch.length > 0; batch = withoutImports()) {
    for (const [file] of batch) remaining.delete(file)
  }
  expect([...remaining.keys()]).toEqual([])
})
