// Writes a Markdown file beside each page, and llms.txt and llms-full.txt, which are made of them.
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type CommentDisplayPart,
  type DeclarationReflection,
  type PageDefinition,
  PageKind,
  type ProjectReflection,
  type Reflection,
  type RendererEvent,
} from 'typedoc'
import ts from 'typescript'
import { operations } from '../../src/client/resources/built-in-operations.ts'
import { guides, root } from './guides.ts'
import { operationIdOf } from './methods.ts'

const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const { name, description } = JSON.parse(read('package.json'))
/** Where `npm run docs` puts the declarations. */
const declarations = 'artifacts/declarations'

/** @param sources the source of each guide, from the root of the project */
export async function writeMarkdown(event: RendererEvent, sources: ReadonlyMap<Reflection, string>): Promise<void> {
  const { pages, project, outputDirectory } = event
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(outputDirectory, path)), { recursive: true })
    await writeFile(join(outputDirectory, path), text)
  }
  const urls = new Map(pages.map(({ model, url }) => [model as Reflection, url.replace(/html$/, 'md')]))
  const sourceOf = ({ kind, model }: PageDefinition) =>
    kind === PageKind.Index ? 'README.md' : sources.get(model as Reflection)
  const written = new Map<string, string>()
  for (const page of pages) {
    const source = sourceOf(page)
    if (source !== undefined) written.set(source, page.url.replace(/html$/, 'md'))
  }
  const texts = new Map<string, string>()
  for (const page of pages) {
    const url = page.url.replace(/html$/, 'md')
    const source = sourceOf(page)
    const text =
      source === undefined
        ? referencePage(project, page.model as DeclarationReflection, urls)
        : readPage(source, url, written)
    texts.set(source ?? url, text)
    await write(url, text)
  }
  await write('llms.txt', index(project, urls, written))
  const full = ['README.md', ...guides.filter(({ group }) => group !== 'Project').map(({ path }) => path)]
  const atRoot = (path: string) => moveLinks(texts.get(path) ?? '', dirname(written.get(path) ?? ''))
  await write('llms-full.txt', full.map(atRoot).join('\n\n'))
}

/** Returns a page with its links as the site has them. */
function readPage(source: string, url: string, written: ReadonlyMap<string, string>): string {
  return read(source).replaceAll(/(?<=\]\()(?!https?:|#)([^)#\s]+)/g, (link) => {
    const path = posix.join(posix.dirname(source), link)
    const target = written.get(path) ?? `media/${posix.basename(path)}`
    return posix.relative(posix.dirname(url), target)
  })
}

/** Returns a page for the root of the site, which stood in a folder of it. */
function moveLinks(text: string, folder: string): string {
  return text.replaceAll(/(?<=\]\()(?!https?:|#)([^)\s]+)/g, (link) => posix.join(folder, link))
}

function index(
  project: ProjectReflection,
  urls: ReadonlyMap<Reflection, string>,
  written: ReadonlyMap<string, string>,
): string {
  const item = (title: string, url: string | undefined, about: string) =>
    `- [${title}](${url})${about === '' ? '' : `: ${about}`}`
  const sections = Map.groupBy(guides, ({ group }) => group)
  const aboutProject = sections.get('Project') ?? []
  sections.delete('Project')
  const lists = [...sections].map(([group, pages]) => [
    `## ${group}`,
    ...pages.map(({ title, path, about }) => item(title, written.get(path), about)),
  ])
  const modules = project.children?.map((module) => item(module.name, urls.get(module), summaryOf(module))) ?? []
  lists.push(
    ['## Reference', ...modules],
    ['## Optional', ...aboutProject.map(({ title, path }) => item(title, written.get(path), ''))],
  )
  return [
    `# ${name}\n\n> ${description}\n`,
    `[README](index.md) shows each topic in a few lines. [llms-full.txt](llms-full.txt) has the README and all guides in one file.`,
    `Every page of the site is also Markdown: its address ends in \`.md\` instead of \`.html\`.`,
    ...lists.map((lines) => `\n${lines[0]}\n\n${lines.slice(1).join('\n')}`),
    '',
  ].join('\n')
}

/** Returns the declaration of an export as TypeScript, or the list of what a module exports. */
function referencePage(
  project: ProjectReflection,
  reflection: DeclarationReflection,
  urls: ReadonlyMap<Reflection, string>,
): string {
  const url = urls.get(reflection) ?? ''
  const exported = reflection.children?.filter((child) => urls.has(child)) ?? []
  if (reflection.isProject() || reflection.parent === project) {
    const items = exported.map(
      (child) => `- [${child.name}](${posix.relative(posix.dirname(url), urls.get(child) ?? '')}): ${summaryOf(child)}`,
    )
    return `# ${reflection.name}\n\n${summaryOf(reflection)}\n\n${items.join('\n')}\n`
  }
  const requests = reflection.children?.flatMap((child) => requestOf(child) ?? []) ?? []
  const list = requests.length === 0 ? '' : `${requests.join('\n')}\n\n`
  return `# ${reflection.name}\n\n${list}\`\`\`ts\n${declarationOf(project, reflection)}\n\`\`\`\n`
}

function declarationOf(project: ProjectReflection, reflection: Reflection): string {
  const { fileName = '', qualifiedName = '' } = project.getSymbolIdFromReflection(reflection) ?? {}
  const path = relative(join(fileURLToPath(root), 'src'), fileName).replace(/(?:\/index)?\.ts$/, '.d.ts')
  const file = join(fileURLToPath(root), declarations, path.startsWith('..') ? 'standard-schema.d.ts' : path)
  if (!existsSync(file)) throw new Error(`${reflection.getFullName()} has no declarations in ${file}.`)
  const { statements } = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const [declared] = qualifiedName.split('.')
  const found = statements.filter((statement) =>
    ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.some((declaration) => declaration.name.getText() === declared)
      : (statement as ts.DeclarationStatement).name?.getText() === declared,
  )
  if (found.length === 0) throw new Error(`${reflection.getFullName()} has no declaration in ${file}.`)
  return found
    .map((statement) => statement.getFullText().trim())
    .join('\n')
    .replaceAll(/\]\((?:\.\.\/)+docs\//g, '](../guides/')
}

/** Returns what the method of an operation sends. */
function requestOf(reflection: DeclarationReflection): string | undefined {
  const operation = operations.find(({ id }) => id === operationIdOf(reflection))
  return operation && `- \`${operation.id}\`: \`${operation.method} ${operation.path}\``
}

/** Returns the first sentence of a comment, without links. */
function summaryOf(reflection: DeclarationReflection): string {
  const comment = reflection.comment ?? reflection.signatures?.[0]?.comment
  const text = (comment?.summary ?? [])
    .map((part: CommentDisplayPart) => part.text)
    .join('')
    .replaceAll(/\[(.+?)\]\(.+?\)/g, '$1')
  return text.split(/(?<=\.)\s/)[0]?.replaceAll('\n', ' ') ?? ''
}
