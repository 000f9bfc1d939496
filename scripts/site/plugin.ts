// A plugin of TypeDoc: the guides in their groups, what each method sends, links from names to the reference, and Markdown.
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Application,
  Comment,
  CommentTag,
  Converter,
  type DeclarationReflection,
  DefaultTheme,
  type DocumentReflection,
  IndexEvent,
  KindRouter,
  type ProjectReflection,
  type Reflection,
  ReflectionKind,
} from 'typedoc'
import { guides, listOfGuides, root, titleOf } from './guides.ts'
import { linkNames } from './link-names.ts'
import { writeMarkdown } from './markdown.ts'
import { describeMethods, operationIdOf } from './methods.ts'

/** The groups of the main entry point, by the file or folder of their source. */
const groups: Readonly<Record<string, string>> = {
  client: 'The client',
  resources: 'Resources',
  call: 'Calls and lists',
  pagination: 'Calls and lists',
  'list-options': 'Calls and lists',
  time: 'Calls and lists',
  'text-to-html': 'Calls and lists',
  core: 'Options and events',
  'web-types': 'Options and events',
  actor: 'Actors and scopes',
  scopes: 'Actors and scopes',
  operation: 'Your own operations',
  models: 'Models',
  'lazy-schemas': 'Models',
  schemas: 'Models',
  errors: 'Errors',
}

/** The paths of the guides from the root of the project. */
const paths = new Map<Reflection, string>()

export function load({ converter, renderer }: Application): void {
  converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document: DocumentReflection) => {
    const path = relative(fileURLToPath(root), document.project.files.getReflectionPath(document) ?? '')
    paths.set(document, path)
    document.name = titleOf(path).replaceAll('`', '')
    document.frontmatter.group = guides.find((guide) => guide.path === path)?.group ?? 'Guides'
    document.relevanceBoost = 200
  })
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    sortGuides(project)
    groupMainEntry(project)
    describeMethods(project)
  })
  converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    linkNames(project, paths)
    for (const member of project.getReflectionsByKind(ReflectionKind.ClassMember) as DeclarationReflection[]) {
      member.relevanceBoost = 0.2
    }
  })
  renderer.on(IndexEvent.PREPARE_INDEX, (event: IndexEvent) => {
    Object.assign(event.searchFieldWeights, { operation: 100_000, guide: 10_000 })
    event.searchResults.forEach((reflection, index) => {
      const operation = operationIdOf(reflection)
      if (operation !== undefined) event.searchFields[index] = { operation }
      const guide = guides.find(({ path }) => path === paths.get(reflection))
      if (guide !== undefined) event.searchFields[index] = { guide: `${guide.title} ${guide.about}` }
    })
  })
  renderer.postRenderAsyncJobs.push(async (event) => writeMarkdown(event, paths))
  renderer.defineRouter('guides', GuidesRouter)
  renderer.defineTheme('guides', GuidesTheme)
}

function sortGuides(project: ProjectReflection): void {
  const place = (reflection: Reflection) => guides.findIndex(({ path }) => path === paths.get(reflection))
  project.documents?.sort((a, b) => place(a) - place(b))
  project.childrenIncludingDocuments?.sort((a, b) => place(a) - place(b))
}

function groupMainEntry(project: ProjectReflection): void {
  const main = project.children?.find(({ name }) => name === 'support-workspace-sdk')
  for (const reflection of main?.children ?? []) {
    const file = project.getSymbolIdFromReflection(reflection)?.fileName ?? ''
    const source = relative(fileURLToPath(root), file).replace('.ts', '').split('/').reverse()
    const group = source.map((part) => groups[part]).find((each) => each !== undefined) ?? groups.operation
    if (group === undefined) throw new Error(`${reflection.name} has no group.`)
    reflection.comment ??= new Comment()
    reflection.comment.blockTags.push(new CommentTag('@group', [{ kind: 'text', text: group }]))
  }
}

class GuidesRouter extends KindRouter {
  protected override getIdealBaseName(reflection: Reflection): string {
    const path = paths.get(reflection)
    if (path === undefined) return super.getIdealBaseName(reflection)
    if (path === listOfGuides) return 'guides/index'
    return path.replace(/^docs\//, 'guides/').replace(/\.md$/, '')
  }
}

class GuidesTheme extends DefaultTheme {
  /** Lists the guides below headings instead of in groups, which would be closed at first. */
  override buildNavigation(project: ProjectReflection) {
    return super
      .buildNavigation(project)
      .filter(({ text }) => text !== 'Guides')
      .flatMap(({ text, children = [] }) => [{ text: text === 'Modules' ? 'API reference' : text }, ...children])
  }
}
