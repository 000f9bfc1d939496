// Writes what is generated from the catalogue: docs/service.md, docs/methods-and-fields.md, and the endpoint table of
// README.md.
import { readFile, writeFile } from 'node:fs/promises'
import {
  type CatalogueField,
  type CatalogueModel,
  type CatalogueOperation,
  type Fact,
  type ModelName,
  models,
  operations,
  type Source,
  type Topic,
  topics,
} from '../src/api/index.ts'
import { argumentsOf, withEndpointTable } from './endpoint-table.ts'

const root = new URL('../', import.meta.url)
const generated = '<!-- Generated from src/api by `npm run docs`. -->'

if (import.meta.main) {
  for (const [path, text] of Object.entries(await generatedPages())) await writeFile(new URL(path, root), text)
}

/** Returns the text of each generated page, by its path from the root of the project. */
export async function generatedPages(): Promise<Record<string, string>> {
  return {
    'README.md': withEndpointTable(await readFile(new URL('README.md', root), 'utf8')),
    'docs/service.md': servicePage(),
    'docs/methods-and-fields.md': fieldsPage(),
  }
}

function servicePage(): string {
  const intro = `# API facts and evidence

${generated}

For everyone who must know what is documented. This page lists what is known of the API of SupportWire, how sure each fact is, and
where it comes from. Nothing here was tested against the live service.
[Methods and fields](methods-and-fields.md) lists each field, and [a probe](probe.md) finds out more. Programs read
the same facts from \`support-workspace-sdk/openapi.json\`.

- **specification**: written in the specification of the API. It is the first authority: where two sources disagree, it wins.
  The tables name the section.
- **reference**: printed in the reference and the guides that the vendor publishes at
  [api-docs-9cc.pages.dev](https://api-docs-9cc.pages.dev). The tables name the page.
- **inferred**: deduced by analogy, or from hints such as the list of the vendor's MCP tools. It might be wrong.

The SDK marks every operation with one of these words: in the [endpoint table](../README.md#endpoints), in the docs comments,
and as \`@experimental\` if it is inferred. The documents were read on ${operations.me.sources[0]?.date}.`
  return `${[intro, ...topics.map(topicSection)].join('\n\n')}\n`
}

function topicSection({ title, intro, facts, unknown, resource, advice }: Topic): string {
  const own = Object.values(operations).filter(({ id }) => id.split('.')[0] === resource)
  const notes = own.flatMap(({ id, notes }) => notes.map((note) => ({ ...note, text: `\`${id}\`: ${note.text}` })))
  const statements = [...facts, ...notes].map((fact) => [withoutPeriod(fact.text), fact.evidence, sourcesOf(fact)])
  const parts = [
    `## ${title}`,
    intro,
    own.length > 0 && table(['Operation', 'Evidence', 'Source'], own.map(operationRow)),
    statements.length > 0 && table(['Fact', 'Evidence', 'Source'], statements),
    unknown.length > 0 &&
      `${title === 'Not known at all' ? '' : 'Not known:\n\n'}${unknown.map((text) => `- ${text}`).join('\n')}`,
    advice,
  ]
  return parts.filter((part) => typeof part === 'string' && part !== '').join('\n\n')
}

function operationRow(operation: CatalogueOperation): string[] {
  const { method, path, body } = operation
  const fields = body === undefined ? {} : models[body].fields
  const required = Object.entries(fields).filter(([, field]) => field.required)
  const names = required.map(([name]) => `\`${name}\``).join(', ')
  return [`\`${method} ${path}\`${names && ` with ${names}`}`, operation.evidence, sourcesOf(operation)]
}

function fieldsPage(): string {
  const rows = Object.values(operations).map((operation) => [
    `\`${operation.id}(${argumentsOf(operation).join(', ')})\``,
    `\`${operation.operationId}\``,
    operation.actor === 'self' ? '`self`' : 'any',
    operation.repeat,
    operation.evidence,
    sourcesOf(operation),
  ])
  return `# Methods and fields

${generated}

For everyone who must know how a method or field is known:
[specification, reference or inferred](service.md). Programs read the same from
\`support-workspace-sdk/openapi.json\`.

## Methods

The column *Service's name* has the vendor's \`operationId\` where the reference prints one. Elsewhere we made a name of the same
form. *Repeat* says what happens if a request is sent twice: with \`safe\` the effect is that of one request, with \`unsafe\` the
effect might happen twice, and with \`unknown\` no source tells.

${table(['Method', "Service's name", 'Actor', 'Repeat', 'Evidence', 'Source'], rows)}

## Fields

*Name* says how name and type of a field are known, *Meaning* how its meaning is known, and *Null* how it is known that it can be
null or absent. A field of a request without *required* can be left out. Times are integers in seconds since the Unix epoch
(specification, section 1).

${Object.values(models).map(modelSection).join('\n\n')}
`
}

function modelSection(model: CatalogueModel): string {
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

function typeOf({ type, model, items, format }: CatalogueField): string {
  const title = model === undefined ? undefined : models[model as ModelName].title
  const inner = title === undefined ? items : `[${title}](#${title.toLowerCase()})`
  const shown = type === 'array' ? `array of ${inner}` : (inner ?? type)
  return format === undefined ? shown : `${shown}, ${format.replace('-', ' ')}`
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
