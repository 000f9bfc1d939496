// A plugin of TypeDoc. Guides are titled with their headings and have the addresses of their files, and the exports of the
// main entry point are grouped by what they are for.
import { basename } from 'node:path'
import { Comment, CommentTag, Converter, DefaultTheme, KindRouter } from 'typedoc'

const fileNames = new Map()

/** The groups of the main entry point, by the file or folder of their source. */
const groups = {
  client: 'The client',
  resources: 'Resources',
  call: 'Calls and lists',
  checkpoint: 'Calls and lists',
  pagination: 'Calls and lists',
  'list-options': 'Calls and lists',
  time: 'Calls and lists',
  'text-to-html': 'Calls and lists',
  http: 'Options and events',
  'web-types': 'Options and events',
  actor: 'Actors and scopes',
  scopes: 'Actors and scopes',
  operation: 'Your own operations',
  'call-operation': 'Your own operations',
  models: 'Models',
  'lazy-schemas': 'Models',
  errors: 'Errors',
}

export function load({ converter, renderer }) {
  converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, guide) => {
    const [heading, title] = /^# (.+)\n/.exec(guide.content[0]?.text ?? '') ?? []
    if (heading === undefined) throw new Error(`${guide.name} does not start with a heading.`)
    fileNames.set(guide, basename(guide.name))
    guide.name = title
    guide.frontmatter.group = 'Guides'
  })
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const reflection of project.getChildByName('support-workspace-sdk').children) {
      const [, source] = /src\/([\w-]+)/.exec(project.getSymbolIdFromReflection(reflection)?.fileName ?? '') ?? []
      if (groups[source] === undefined) continue
      reflection.comment ??= new Comment()
      reflection.comment.blockTags.push(new CommentTag('@group', [{ kind: 'text', text: groups[source] }]))
    }
  })
  renderer.defineRouter('guides', GuidesRouter)
  renderer.defineTheme('guides', GuidesTheme)
}

class GuidesRouter extends KindRouter {
  getIdealBaseName(reflection) {
    const fileName = fileNames.get(reflection)
    return fileName === undefined ? super.getIdealBaseName(reflection) : `guides/${fileName}`
  }
}

class GuidesTheme extends DefaultTheme {
  /** Lists the guides without a group around them, which would be closed at first. */
  buildNavigation(project) {
    return super.buildNavigation(project).flatMap(({ children = [] }) => children)
  }
}
