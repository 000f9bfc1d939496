import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as jsonPath from 'jsonpath-rfc9535'
import { openapiOverlay } from 'openapi-format'
import { type Overlay, overlayOf } from 'support-workspace-sdk/probe'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { evidenceSchema, openApiDocument } from '../../scripts/openapi.ts'
import { probeService } from '../probe/service.ts'

const { applyOverlay } = createRequire(import.meta.url)('openapi-overlays-js/src/overlay.js')

type Document = ReturnType<typeof openApiDocument>

let folder: string
let overlay: Overlay

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'overlay-'))
  overlay = overlayOf((await probeService()).findings.evidence) as Overlay
})

afterAll(() => rmSync(folder, { recursive: true }))

/** Tools of other houses that apply an Overlay to a document. */
const tools: Readonly<Record<string, (document: Document) => Promise<Document>>> = {
  'openapi-format': async (document) => {
    const { data } = await openapiOverlay(structuredClone(document), { overlaySet: structuredClone(overlay) })
    return data as Document
  },
  'openapi-overlays-js': async (document) => applyOverlay(structuredClone(document), structuredClone(overlay)),
}

test('every target of an Overlay matches one node', () => {
  const document = openApiDocument() as Parameters<typeof jsonPath.query>[0]
  expect(overlay.actions.length).toBeGreaterThan(80)
  const counts = overlay.actions.map(({ target }) => jsonPath.query(document, target).length)
  expect(new Set(counts)).toEqual(new Set([1]))
})

describe.each(Object.keys(tools))('%s', (name) => {
  test('applies the Overlay, once and twice, with the same valid document', async () => {
    const apply = tools[name]!
    const once = await apply(openApiDocument())
    expect(await apply(once)).toEqual(once)
    expect(await new Validator().validate(structuredClone(once))).toEqual({ valid: true })
    const texts = JSON.stringify(once).match(/"observed":\{"calls":\d+,"first":"[\d-]+","last":"[\d-]+"\}/g)
    expect(texts).toHaveLength(overlay.actions.length)
  })
})

test('both tools make the same document', async () => {
  const documents = await Promise.all(Object.values(tools).map((apply) => apply(openApiDocument())))
  expect(documents[0]).toEqual(documents[1])
})

test('the schema of evidence files accepts what a probe writes', async () => {
  const { evidence } = (await probeService()).findings
  const path = join(folder, 'evidence.json')
  writeFileSync(path, JSON.stringify(evidence))
  const validate = new Ajv2020({ strict: false }).compile(evidenceSchema())
  expect(validate(JSON.parse(readFileSync(path, 'utf8')))).toBe(true)
  expect(validate({ ...evidence, fields: { 'contact.Secret Name': {} } })).toBe(false)
})
