// Writes openapi.json: OpenAPI 3.1, from the facts of src/api.
//
//   node scripts/openapi.ts dist
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ApiField,
  type ApiModel,
  type ApiOperation,
  type Fact,
  type ModelName,
  models,
  operations,
} from '../src/api/index.ts'
import { knownScopes } from '../src/shared/scopes.ts'
import { version } from '../src/shared/version.ts'
import { sectionsOfModels } from './generate.ts'

type Json = Record<string, unknown>

const baseUrl = 'https://api.supportwire.app'
/** That a create responds with 201 and a delete with 204 is inferred. */
const statuses = { GET: 200, PATCH: 200, POST: 201, DELETE: 204 } as const

/** A body with `data`. */
const wrapped = { properties: { data: { type: 'object' } }, required: ['data'] }

if (import.meta.main) {
  const folder = process.argv[2] ?? 'dist'
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(openApiDocument(), null, 1)}\n`)
}

/** Returns the description of the service as an OpenAPI document. */
export function openApiDocument(): Json {
  const own = Object.values(operations)
  const paths = Object.entries(Object.groupBy(own, ({ path }) => path)).map(([path, methods = []]) => {
    return [path, Object.fromEntries(methods.map((each) => [each.method.toLowerCase(), operationOf(each)]))]
  })
  return {
    openapi: '3.1.0',
    info: {
      title: 'Support workspace',
      version,
      summary: 'The REST API of a support workspace, with how each part of it is known.',
      description: `Written from the documents of the service, which are incomplete. \`x-evidence\` says of each operation and each field
whether it is from the \`specification\`, from the vendor's \`reference\`, or \`inferred\`; \`meaning\` and \`nullable\` say the
same of the meaning of a field, and of null and absence.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: '{baseUrl}',
        variables: {
          baseUrl: { default: baseUrl, description: 'The address of the service, without a trailing slash.' },
        },
      },
    ],
    security: [{ oauth: [] }],
    tags: [...new Set(own.map(tagOf))].map((name) => ({ name, description: `The calls of \`workspace.${name}\`.` })),
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: { oauth: oauthScheme() },
      schemas: componentSchemas(),
      responses: {
        Error: { description: 'The request was refused.', content: jsonOf(refTo('error')) },
      },
    },
  }
}

function oauthScheme(): Json {
  return {
    type: 'oauth2',
    description:
      'Authorization code grant with PKCE: send `code_challenge` with `code_challenge_method=S256`, and `code_verifier` with the code. `actor` in the authorization request selects who the token acts as. There are no refresh tokens.',
    flows: {
      authorizationCode: {
        authorizationUrl: `${baseUrl}/api/oauth/authorize`,
        tokenUrl: `${baseUrl}/api/oauth/token`,
        scopes: Object.fromEntries(knownScopes.map((scope) => [scope, scope.replace(/(.+):(.+)/, 'To $2 $1.')])),
      },
    },
  }
}

function operationOf(operation: ApiOperation): Json {
  const { id, operationId, title, method, path, scope, actor, repeat, body, notes } = operation
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...Object.entries(operation.query).map(([name, fact]) => ({
      name,
      in: 'query',
      description: fact.text,
      schema: name === 'limit' ? { type: 'integer', minimum: 1 } : { type: 'string' },
      'x-evidence': evidenceOf(fact),
    })),
  ]
  return {
    operationId,
    summary: title,
    ...(notes.length > 0 && { description: notes.map(({ text, evidence }) => `${text} (${evidence})`).join('\n\n') }),
    tags: [tagOf(operation)],
    security: [{ oauth: scope === undefined ? [] : [scope] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: jsonOf(refTo(body)) } }),
    responses: { [statuses[method]]: successOf(operation), '4XX': { $ref: '#/components/responses/Error' } },
    'x-sdk-call': id,
    'x-actor': actor,
    'x-repeat': repeat,
    'x-mcp': {
      readOnlyHint: method === 'GET',
      destructiveHint: method === 'PATCH' || method === 'DELETE',
      idempotentHint: repeat === 'safe',
      openWorldHint: true,
    },
    'x-evidence': evidenceOf(operation),
  }
}

function successOf({ method, envelope, response }: ApiOperation): Json {
  const description = method === 'POST' || method === 'DELETE' ? 'Success. The status is inferred.' : 'Success.'
  if (response === undefined || envelope === 'none') return { description }
  const item = refTo(response)
  // Every field can be absent, so that a wrapped body would match as well.
  if (envelope === 'bare') return { description, content: jsonOf({ ...item, not: wrapped }) }
  const data = envelope === 'list' ? { type: 'array', items: item } : item
  const metadata = envelope === 'list' && { page_metadata: { anyOf: [refTo('pageMetadata'), { type: 'null' }] } }
  return { description, content: jsonOf({ type: 'object', properties: { data, ...metadata }, required: ['data'] }) }
}

function tagOf({ id }: ApiOperation): string {
  return id.split('.')[0] ?? id
}

function jsonOf(schema: Json): Json {
  return { 'application/json': { schema } }
}

function refTo(model: ModelName): Json {
  return { $ref: `#/components/schemas/${models[model].title}` }
}

/** Returns the schema of each model that an operation sends or returns, and of the pages and errors around them. */
function componentSchemas(): Json {
  const used: readonly ModelName[] = [...sectionsOfModels().keys(), 'pageMetadata', 'error']
  return Object.fromEntries(used.map((name) => [models[name].title, schemaOf(models[name])]))
}

function schemaOf({ text, isOpen, fields }: ApiModel): Json {
  const known = Object.entries(fields)
  const required = known.filter(([, field]) => field.required).map(([name]) => name)
  return {
    description: text,
    type: 'object',
    ...(required.length > 0 && { required }),
    ...(isOpen && { additionalProperties: true }),
    properties: Object.fromEntries(known.map(([name, field]) => [name, describedField(field)])),
  }
}

function describedField(field: ApiField): Json {
  const { format, meaning, nullable } = field
  const isStandard = format === 'email' || format === 'date-time'
  return {
    ...(nullable === undefined ? typeOf(field) : orNull(typeOf(field))),
    ...(isStandard && { format }),
    description: meaning.text,
    'x-evidence': evidenceOf(field, meaning, nullable),
  }
}

function typeOf({ type, model }: ApiField): Json {
  const reference = model === undefined ? undefined : refTo(model as ModelName)
  if (type === 'array') return { type, items: reference ?? { type: 'string' } }
  if (type === 'object') return reference ?? { type, properties: {}, additionalProperties: true }
  return { type }
}

function orNull(schema: Json): Json {
  const isPlain = typeof schema.type === 'string' && Object.keys(schema).length === 1
  return isPlain ? { type: [schema.type, 'null'] } : { anyOf: [schema, { type: 'null' }] }
}

function evidenceOf({ evidence, sources }: Fact, meaning?: Fact, nullable?: Fact): Json {
  return {
    level: evidence,
    ...(meaning && { meaning: meaning.evidence }),
    ...(nullable && { nullable: nullable.evidence }),
    sources: sources.map(({ title, section, date }) => ({ title, section, date })),
  }
}
