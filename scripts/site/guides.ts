// The guides by group, in the order of docs/README.md, which is the order of the sidebar and of llms.txt.
import { readFileSync } from 'node:fs'

export interface Guide {
  /** Path from the root of the project. */
  readonly path: string
  readonly title: string
  /** One sentence without a period. Empty for the pages of the project. */
  readonly about: string
  readonly group: string
}

export const root = new URL('../../', import.meta.url)

/** The page that lists the guides. */
export const listOfGuides = 'docs/README.md'

export const guides: readonly Guide[] = [
  ...readGuides(),
  ...['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'].map(projectPage),
]

function readGuides(): Guide[] {
  let group = ''
  return [
    ...readFileSync(new URL(listOfGuides, root), 'utf8').matchAll(/^## (.+)$|^- \[.+?\]\(([\w-]+\.md)\): (.+)$/gm),
  ].flatMap(([, heading, file, about = '']) => {
    group = heading ?? group
    return file === undefined ? [] : [{ path: `docs/${file}`, title: titleOf(`docs/${file}`), about, group }]
  })
}

function projectPage(path: string): Guide {
  return { path, title: titleOf(path), about: '', group: 'Project' }
}

/** Returns the first heading of a page. */
export function titleOf(path: string): string {
  const [, title] = /^# (.+)\n/.exec(readFileSync(new URL(path, root), 'utf8')) ?? []
  if (title === undefined) throw new Error(`${path} does not start with a heading.`)
  return title
}
