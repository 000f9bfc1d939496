// The names that the documents of the service have: what a body, a query and an item consist of. The service ignores
// other names without a word, so that a misspelled one would be lost.

import { operations as facts, models } from '../api/index.ts'
import type { Method, OperationId } from '../index.ts'
import { findSimilar } from '../shared/similar.ts'
import { inQuotes, programName, usage } from './errors.ts'
import type { Terminal } from './terminal.ts'

type Model = (typeof models)[keyof typeof models]

/** Refuses a body that is missing, and a field of it that the documents do not have. */
export function checkBody(id: string, body: unknown, isUndocumented: boolean | undefined, flag = 'The body'): void {
  const model = factOf(id)?.body
  const known = fieldsOf(model)
  if (model !== undefined && body === undefined && !isUndocumented)
    throw usage(`${id} needs a body.`, 'Pass its fields with -f or -F, or all of it with --input.')
  if (known === undefined || isUndocumented || typeof body !== 'object' || body === null || Array.isArray(body)) return
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw usage(
    `${flag} has the field "${unknown}", which the documents of ${id} do not have.`,
    `${meant(unknown, known)} The service ignores other fields. Pass --undocumented to send it.`,
  )
}

/** Refuses a query parameter that looks like a filter, and notes one that the documents do not have. */
export function checkQuery(
  id: string,
  query: Readonly<Record<string, unknown>>,
  isUndocumented: boolean | undefined,
  terminal: Terminal,
): void {
  const fact = factOf(id)
  if (fact === undefined || isUndocumented) return
  const fields = modelOf(fact.response)?.fields ?? {}
  for (const [name, value] of Object.entries(query)) {
    if (Object.hasOwn(fact.query, name)) continue
    if (Object.hasOwn(fields, name.split('.')[0] ?? '')) {
      throw usage(
        `-q ${name} is a field of the response, and the documents have no filter of that name.`,
        `${filterFor(id, `${name}=${value}`)}To send it: --undocumented.`,
      )
    }
    terminal.note(`-q ${name} is not documented, so the service may ignore it.`, { parameter: name })
  }
}

/** Returns the advice to filter a list that an operation belongs to, if there is one. */
function filterFor(id: string, pair: string): string {
  const kind = id.split('.')[0] ?? ''
  const list = factOf(`${kind}.list`)
  if (list === undefined) return ''
  const parent = list.path.includes('{') ? ' ID' : ''
  return `To filter what is read: ${programName} list ${kind}${parent} --where ${inQuotes(pair)}. `
}

/** Refuses a field of an item that the documents do not have, such as `user.emial`. */
export function checkItemField(kind: string, path: string): void {
  let model = modelOf(factOf(`${kind}.list`)?.response)
  for (const name of path.split('.')) {
    const known = model === undefined || model.isOpen ? undefined : Object.keys(model.fields)
    if (model === undefined || known === undefined) return
    if (!known.includes(name)) {
      throw usage(`${kind} have no field "${path}" in the documents.`, `${meant(name, known)} Or pass --undocumented.`)
    }
    model = modelOf(model.fields[name]?.model)
  }
}

/** Returns the id of the operation at a path of the service. */
export function operationAt(method: Method, path: string): string | undefined {
  return Object.values(facts).find((fact) => {
    const pattern = fact.path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')
    return fact.method === method && new RegExp(`^${pattern}/?$`).test(path)
  })?.id
}

/** Describes the fields of an operation's body and its query, for help. */
export function describeNames(id: string): string {
  const fact = factOf(id)
  const body = modelOf(fact?.body)
  const rows = Object.entries(body?.fields ?? {}).map(([name, { type, required, meaning }]) => {
    return [`${name}${required ? ' (required)' : ''}`, `${type}: ${meaning.text}`]
  })
  const width = Math.max(...rows.map(([name = '']) => name.length))
  const lines = rows.map(([name = '', text]) => `  ${name.padEnd(width)}  ${text}`)
  const open = body?.isOpen ? '  The documents do not list the fields.\n' : ''
  const fields = body === undefined ? '' : `\nFields of ${id}, for -f, -F and --input:\n${open}${lines.join('\n')}\n`
  const query = Object.keys(fact?.query ?? {})
  return `${fields}${query.length === 0 ? '' : `\nQuery of ${id}, for -q: ${query.join(', ')}\n`}`
}

function factOf(id: string) {
  return Object.hasOwn(facts, id) ? facts[id as OperationId] : undefined
}

function modelOf(name: string | undefined): Model | undefined {
  return name === undefined ? undefined : models[name as keyof typeof models]
}

/** Returns the names of a model's fields, if the documents list all of them. */
function fieldsOf(name: string | undefined): readonly string[] | undefined {
  const model = modelOf(name)
  return model === undefined || model.isOpen ? undefined : Object.keys(model.fields)
}

function meant(name: string, known: readonly string[]): string {
  const similar = findSimilar(name, known)
  return similar === undefined ? `They have: ${known.join(', ')}.` : `Did you mean ${similar}?`
}
