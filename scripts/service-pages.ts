// Writes the parts of docs/methods-and-fields.md and docs/service.md that are generated from src/api. `npm run docs`
import { readFile, writeFile } from 'node:fs/promises'
import {
  type ApiField,
  type ApiModel,
  type ApiOperation,
  type Fact,
  type ModelName,
  models,
  operations,
  type Source,
} from '../src/api/index.ts'

const root = new URL('../', import.meta.url)

if (import.meta.main) {
  for (const [path, text] of Object.entries(await generatedPages())) await writeFile(new URL(path, root), text)
}

/** Returns the text of each page with generated parts, by its path from the root of the project. */
export async function generatedPages(): Promise<Record<string, string>> {
  const paths = ['docs/service.md', 'docs/methods-and-fields.md']
  const pages = paths.map(async (path) => [path, withParts(await readFile(new URL(path, root), 'utf8'))])
  return Object.fromEntries(await Promise.all(pages))
}

/** Returns a page, which is written by hand, with a new text of each generated part. */
function withParts(page: string): string {
  return page.replace(
    /(<!-- (methods|fields|notes on (\w+)) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start: string, part: string, resource: string, end: string) => {
      const text = part === 'methods' ? methodsTable() : part === 'fields' ? fieldTables() : notesOf(resource)
      return `${start}\n${text}\n\n${end}`
    },
  )
}

function notesOf(resource: string): string {
  const own = Object.values(operations).filter(({ id }) => id.split('.')[0] === resource)
  const notes = own.flatMap(({ id, notes }) =>
    notes.map((note) => `- \`${id}\`: ${withoutPeriod(note.text)} (${note.evidence}, ${sourcesOf(note)})`),
  )
  if (notes.length === 0) throw new Error(`docs/service.md names the resource ${resource}, which has no notes.`)
  return notes.join('\n')
}

function methodsTable(): string {
  const rows = Object.values(operations).map((operation) => [
    `\`${operation.id}(${argumentsOf(operation).join(', ')})\``,
    `\`${operation.method} ${operation.path.replace('/api/oauth/v1', '')}\``,
    operation.scope === undefined ? '' : `\`${operation.scope}\``,
    operation.actor === 'self' ? '`self`' : 'any',
    operation.repeat,
    operation.evidence,
    sourcesOf(operation),
    `\`${operation.operationId}\``,
  ])
  return table(['Method', 'Request', 'Scope', 'Actor', 'Repeat', 'Evidence', 'Source', "Service's name"], rows)
}

function fieldTables(): string {
  return Object.values(models).map(modelSection).join('\n\n')
}

function modelSection(model: ApiModel): string {
  const rows = Object.entries(model.fields).map(([field, known]) => [
    `\`${field}\``,
    typeOf(known),
    withoutPeriod(known.meaning.text),
    known.evidence,
    known.meaning.evidence,
    known.required ? 'required' : (known.nullable?.evidence ?? ''),
    sourcesOf(known),
  ])
  const heads = ['Field', 'Type', 'Meaning', 'Name', 'Meaning', 'Null', 'Source']
  return [`### ${model.title}`, model.text, rows.length > 0 && table(heads, rows)].filter(Boolean).join('\n\n')
}

function typeOf({ type, model, items, format }: ApiField): string {
  const title = model === undefined ? undefined : models[model as ModelName].title
  const inner = title === undefined ? items : `[${title}](#${title.toLowerCase()})`
  const shown = type === 'array' ? `array of ${inner}` : (inner ?? type)
  return format === undefined ? shown : `${shown}, ${format.replace('-', ' ')}`
}

/** Returns the names of the required arguments: the ids in the path, then the body. */
function argumentsOf({ path, body }: ApiOperation): string[] {
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const camelCase = ids.map((name) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()))
  return body === undefined ? camelCase : [...camelCase, 'body']
}

/** Sections, tools and pages, each of which says by its form which document it belongs to. */
function sourcesOf({ sources }: Fact): string {
  return sources.map(({ section }: Source) => section).join('; ')
}

function withoutPeriod(text: string): string {
  return text.replace(/\.$/, '')
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
}
