// Writes src/client/generated from src/api: the interfaces of the models, their schemas, and the operations as data.
//
//   npm run generate
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  type ApiField,
  type ApiModel,
  type ApiOperation,
  type ModelName,
  models,
  operations,
} from '../src/api/index.ts'

const root = join(import.meta.dirname, '..')
const header = '// Generated from src/api by `npm run generate`. Do not edit.\n\n'
const all = Object.values(operations)

if (import.meta.main) {
  for (const [path, text] of Object.entries(generatedFiles())) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

/** Returns the text of each generated file, by its path from the root of the project. */
export function generatedFiles(): Record<string, string> {
  const sections = sectionsOfModels()
  const files = {
    'models.ts': modelsFile(sections),
    'schemas.ts': schemasFile([...sections.keys()]),
    'operations.ts': operationsFile(),
  }
  const formatted = Object.entries(files).map(([name, text]) => {
    const path = `src/client/generated/${name}`
    const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
    const options = { input: header + text, encoding: 'utf8', cwd: root } as const
    return [path, execFileSync(process.execPath, [biome, 'format', '--stdin-file-path', path], options)]
  })
  return Object.fromEntries(formatted)
}

/** Returns the models that the client sends or receives, those in the fields of others first, with their section of docs/service.md. */
export function sectionsOfModels(): Map<ModelName, string> {
  const found = new Map<ModelName, string>([['user', 'people']])
  const visit = (name: ModelName, section: string) => {
    if (found.has(name)) return
    const named = all.find(({ response, id }) => response === name && id !== 'me')
    const own = named === undefined ? section : sectionOf(named)
    for (const { model } of Object.values(models[name].fields)) if (model !== undefined) visit(model as ModelName, own)
    found.set(name, own)
  }
  for (const operation of all) {
    for (const name of [operation.body, operation.response]) if (name !== undefined) visit(name, sectionOf(operation))
  }
  return found
}

function sectionOf({ id }: ApiOperation): string {
  const [resource = ''] = id.split('.')
  const named: Record<string, string> = { me: 'identity', members: 'team-members' }
  return /tasks|segments/.test(resource) ? 'tasks-and-segments' : (named[resource] ?? resource)
}

function modelsFile(sections: ReadonlyMap<ModelName, string>): string {
  const interfaces = [...sections].map(([name, section]) => interfaceOf(name, section))
  const names = [...sections.keys()].map((name) => `${name}: ${models[name].title}`)
  return `import type { Actor } from '../../shared/actor.ts'
import type { FreeForm, Role } from '../open-types.ts'

${interfaces.join('\n\n')}

/** The type of each model, by its name. */
export interface Models {
${names.join('\n')}
}
`
}

function interfaceOf(name: ModelName, section: string): string {
  const { title, isOpen, fields } = models[name]
  const isBody = name.endsWith('Body')
  const about = comment(describe(models[name], section, isBody))
  if (isOpen && isBody) return `${about}\nexport type ${title} = object`
  const members = Object.entries(fields).map(([field, known]) => {
    const optional = isBody ? ' | undefined' : ' | null'
    const type = `${typeOf(known)}${known.required ? '' : optional}`
    return `${comment(commentOf(known))}\n${field}${known.required ? '' : '?'}: ${type}`
  })
  const rest = isOpen ? ['[field: string]: unknown'] : []
  return `${about}\nexport interface ${title} {\n${[...members, ...rest].join('\n')}\n}`
}

function describe({ text, isOpen, fields, evidence }: ApiModel, section: string, isBody: boolean): string {
  const link = `([${evidence === 'inferred' ? 'what is known' : evidence}](docs/service.md#${section}))`
  const guesses = Object.values(fields).filter((field) => field.evidence === 'inferred')
  const linked = text.replace(/\.(?= |$)/, ` ${link}.`)
  if (isOpen) return isBody ? `${linked} Its fields are not documented, so any object is accepted.` : linked
  if (!isBody) return linked
  const areGuesses = guesses.length === Object.keys(fields).length
  const guess = areGuesses ? ` Its ${guesses.length === 1 ? 'field is' : 'fields are'} inferred.` : ''
  return `${linked}${guess} Pass undocumented fields in \`extraBody\`.`
}

/** Returns the comment of a field: its meaning, and what of it is inferred. */
function commentOf({ evidence, meaning }: ApiField): string {
  if (evidence === 'inferred') return `${meaning.text} The field is inferred.`
  return meaning.evidence === 'inferred' ? meaning.text.replace(/\.(?= |$)/, ' (inferred).') : meaning.text
}

function typeOf({ type, model, items, values }: ApiField): string {
  const one = model === undefined ? items : models[model as ModelName].title
  if (type === 'array') return `${one}[]`
  if (values !== undefined) return values === 'Actor' ? 'Actor | (string & {})' : values
  return one ?? { object: 'FreeForm', integer: 'number', string: 'string', boolean: 'boolean' }[type]
}

function schemasFile(names: readonly ModelName[]): string {
  const own = names.map((name) => `const ${name} = ${schemaOf(name)}`)
  return `import * as z from 'zod/mini'

/** An optional, nullable field. The documents do not say which fields can be null or absent, so every field except \`id\` can. */
function nullish<Inner extends z.core.SomeType>(inner: Inner): z.ZodMiniExactOptional<z.ZodMiniNullable<Inner>> {
  return z.exactOptional(z.nullable(inner))
}

/** Accepts any object. */
const freeForm = z.object({})

${own.join('\n\n')}

/** Every schema, by the name of its model. */
export const all = { ${names.join(', ')} }
`
}

function schemaOf(name: ModelName): string {
  const fields = Object.entries(models[name].fields)
  if (fields.length === 0) return 'freeForm'
  const wrap = name.endsWith('Body') ? 'z.optional' : 'nullish'
  const members = fields.map(([field, known]) => {
    const inner = fieldSchema(known)
    return `${field}: ${known.required ? inner : `${wrap}(${inner})`}`
  })
  return `z.object({\n${members.join(',\n')},\n})`
}

function fieldSchema({ type, model }: ApiField): string {
  if (type === 'array') return `z.array(${model ?? 'z.string()'})`
  if (type === 'object') return model ?? 'freeForm'
  return type === 'integer' ? 'z.number()' : `z.${type}()`
}

function operationsFile(): string {
  const byResource = Object.entries(Object.groupBy(all, ({ id }) => id.split('.')[0] ?? id))
  const nameOf = (resource: string) => `${resource.replace(/s$/, '')}Operations`
  const groups = byResource.map(([resource, group = []]) => {
    const members = group.map((operation) => `${operation.id.split('.').at(-1)}: ${dataOf(operation)}`)
    return `export const ${nameOf(resource)} = {\n${members.join(',\n')},\n} as const satisfies Operations`
  })
  return `import { lazySchema } from '../lazy-schemas.ts'
import type { Operations } from '../resources/resource.ts'

${groups.join('\n\n')}

/** The operations of each resource, by the name of its property on the client. */
export const operationsByResource = { ${byResource.map(([resource]) => `${resource}: ${nameOf(resource)}`).join(', ')} } as const
`
}

/** Returns the data that a call needs. Biome removes the quotes of the names. */
function dataOf({ id, method, path, scope, actor, evidence, envelope, body, response }: ApiOperation): string {
  const own = { actor: actor === 'self' ? actor : undefined, envelope: envelope === 'item' ? undefined : envelope }
  const data = { id, method, path, scope, actor: own.actor, evidence, envelope: own.envelope, body, response }
  return JSON.stringify(data).replace(/("body"|"response"):("\w+")/g, '$1: /* @__PURE__ */ lazySchema($2)')
}

/** Returns a comment, in lines of at most 120 characters. */
function comment(text: string): string {
  if (text.length <= 110) return `/** ${text} */`
  return `/**\n${text.replace(/(.{1,112})(?: |$)/g, ' * $1\n')} */`
}
