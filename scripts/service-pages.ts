// Writes what is generated from src/api: docs/methods-and-fields.md, and the notes on operations in docs/service.md.
import { readFile, writeFile } from 'node:fs/promises'
import {
  type ApiField,
  type ApiModel,
  type Fact,
  type ModelName,
  models,
  operations,
  type Source,
} from '../src/api/index.ts'

const root = new URL('../', import.meta.url)
const generated = '<!-- Generated from src/api by `npm run docs`. -->'

if (import.meta.main) {
  for (const [path, text] of Object.entries(await generatedPages())) await writeFile(new URL(path, root), text)
}

/** Returns the text of each generated page, by its path from the root of the project. */
export async function generatedPages(): Promise<Record<string, string>> {
  return {
    'docs/service.md': withNotes(await readFile(new URL('docs/service.md', root), 'utf8')),
    'docs/methods-and-fields.md': fieldsPage(),
  }
}

/** Returns the page of facts, which is written by hand, with new lists of the notes on operations. */
function withNotes(page: string): string {
  return page.replace(
    /(<!-- notes on (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start: string, resource: string, end: string) => `${start}\n${notesOf(resource)}\n\n${end}`,
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

function fieldsPage(): string {
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
  return `# Methods and fields

${generated}

Every method of the client, the request that it sends, the scope and the actor that its token needs, and how we know it:
[specification, reference or inferred](service.md). The [fields](#fields) follow. Programs read the same from
\`support-workspace-sdk/openapi.json\`.

## Methods

All paths are below \`/api/oauth/v1\`. **Inferred** methods are guesses by analogy. The error of a 404 says so, and
[a probe](probe.md) finds out which of them your service has. *Repeat* says what happens if a request is sent twice: with \`safe\` the
effect is that of one request, with \`unsafe\` the effect might happen twice, and with \`unknown\` no source tells. *Service's name*
is the vendor's \`operationId\` where the reference prints one. Elsewhere we made a name of the same form.

${table(['Method', 'Request', 'Scope', 'Actor', 'Repeat', 'Evidence', 'Source', "Service's name"], rows)}

## Fields

*Name* says how name and type of a field are known, *Meaning* how its meaning is known, and *Null* how it is known that it can be
null or absent. A field of a request without *required* can be left out. Times are integers in seconds since the Unix epoch
(specification, section 1).

${Object.values(models).map(modelSection).join('\n\n')}
`
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
export function argumentsOf({ path, body }: { readonly path: string; readonly body?: unknown }): string[] {
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
