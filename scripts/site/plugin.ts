// A plugin of TypeDoc: the guides in their groups and order, a Markdown file beside each, and llms.txt, which is made of them.
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Application,
  Converter,
  type DocumentReflection,
  KindRouter,
  type Reflection,
  type RendererEvent,
} from 'typedoc'
import { guides, listOfGuides, root, titleOf } from './guides.ts'

const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const { name, description } = JSON.parse(read('package.json'))

/** The paths of the guides from the root of the project. */
const paths = new Map<Reflection, string>()

export function load({ converter, renderer }: Application): void {
  converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document: DocumentReflection) => {
    const path = relative(fileURLToPath(root), document.project.files.getReflectionPath(document) ?? '')
    paths.set(document, path)
    document.name = titleOf(path).replaceAll('`', '')
    document.frontmatter.group = guides.find((guide) => guide.path === path)?.group ?? 'Guides'
  })
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const place = (reflection: Reflection) => guides.findIndex(({ path }) => path === paths.get(reflection))
    project.documents?.sort((a, b) => place(a) - place(b))
    project.childrenIncludingDocuments?.sort((a, b) => place(a) - place(b))
  })
  renderer.defineRouter('guides', GuidesRouter)
  renderer.postRenderAsyncJobs.push(writeMarkdown)
}

/** Returns where the site has a page of the project, without its extension. */
function placeOf(path: string): string {
  if (path === 'README.md') return 'index'
  return path === listOfGuides ? 'guides/index' : path.replace(/^docs\//, 'guides/').replace(/\.md$/, '')
}

class GuidesRouter extends KindRouter {
  protected override getIdealBaseName(reflection: Reflection): string {
    const path = paths.get(reflection)
    return path === undefined ? super.getIdealBaseName(reflection) : placeOf(path)
  }
}

async function writeMarkdown({ outputDirectory }: RendererEvent): Promise<void> {
  const pages = ['README.md', listOfGuides, ...guides.map(({ path }) => path)]
  const files = new Map(pages.map((path) => [`${placeOf(path)}.md`, readPage(path, dirname(placeOf(path)))]))
  files.set('llms.txt', index())
  const full = ['README.md', ...guides.filter(({ group }) => group !== 'Project').map(({ path }) => path)]
  files.set('llms-full.txt', full.map((path) => readPage(path, '.')).join('\n\n'))
  for (const [path, text] of files) {
    await mkdir(dirname(join(outputDirectory, path)), { recursive: true })
    await writeFile(join(outputDirectory, path), text)
  }
}

/** Returns a page whose links lead from a folder of the site to its Markdown files. */
function readPage(source: string, folder: string): string {
  return read(source).replaceAll(/(?<=\]\()(?!https?:|#)([^)#\s]+)/g, (link) => {
    const path = posix.join(posix.dirname(source), link)
    const isPage = path === 'README.md' || path === listOfGuides || guides.some((guide) => guide.path === path)
    return posix.relative(folder, isPage ? `${placeOf(path)}.md` : `media/${posix.basename(path)}`)
  })
}

function index(): string {
  const lists = [...Map.groupBy(guides, ({ group }) => group)].map(([group, pages]) => {
    const items = pages.map(({ title, path, about }) => `- [${title}](${placeOf(path)}.md)${about && `: ${about}`}`)
    return `\n## ${group === 'Project' ? 'Optional' : group}\n\n${items.join('\n')}`
  })
  return [
    `# ${name}\n\n> ${description}\n`,
    '[README](index.md) shows each topic in a few lines. [llms-full.txt](llms-full.txt) has the README and all guides in one file.',
    ...lists,
    '',
  ].join('\n')
}
