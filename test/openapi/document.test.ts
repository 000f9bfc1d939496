import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApiDocument } from '../../scripts/openapi.ts'
import { folder } from './folder.ts'

let temporary: string
let path: string

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'openapi-'))
  path = join(temporary, 'openapi.json')
  writeFileSync(path, JSON.stringify(openApiDocument()))
})

afterAll(() => rm(temporary, { recursive: true }))

test('the schema of OpenAPI 3.1 accepts the document', async () => {
  const validator = new Validator()
  expect(await validator.validate(openApiDocument())).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('the schema of OpenAPI 3.1 rejects a document with a mistake', async () => {
  const { paths, ...rest } = openApiDocument()
  expect(await new Validator().validate({ ...rest, paths: { contacts: paths } })).toMatchObject({ valid: false })
})

test('Redocly finds neither an error nor a warning', () => {
  const redocly = join(folder, 'node_modules/.bin/redocly')
  const output = execFileSync(redocly, ['lint', '--extends', 'recommended', '--format', 'json', path], {
    encoding: 'utf8',
    cwd: temporary,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  expect(JSON.parse(output)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 } })
})
