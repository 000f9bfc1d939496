import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { guides } from '../../scripts/site/guides.ts'
import { root } from './page.ts'

const pages = globSync('{*.md,docs/*.md,decisions/*.md,examples/*/README.md}', { cwd: root }).sort()
const { files } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { files: string[] }
/** The files of the package, including those that npm always adds. */
const published = [...files, 'README.md', 'LICENSE', 'package.json']

interface Link {
  readonly from: string
  /** Path from the root of the project. */
  readonly target: string
  readonly anchor: string | undefined
}

function linksIn(file: string, folder: string): Link[] {
  const text = withoutCode(readFileSync(root + file, 'utf8'))
  return [...text.matchAll(/\]\((?!https?:|mailto:|\))([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path = '', anchor]) => ({
    from: file,
    target: path === '' ? file : join(folder, path),
    anchor,
  }))
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '')
}

/** Returns the anchors of a page, as GitHub and TypeDoc make them from its headings. */
function anchorsOf(page: string): string[] {
  const text = readFileSync(root + page, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function isBroken({ target, anchor }: Link): boolean {
  return !existsSync(root + target) || (anchor !== undefined && !anchorsOf(target).includes(anchor))
}

const pageLinks = pages.flatMap((page) => linksIn(page, dirname(page)))

test('every relative link of a page leads to a file, and to a heading of it', () => {
  expect(pageLinks.length).toBeGreaterThan(80)
  expect(pageLinks.filter(isBroken)).toEqual([])
})

test('every link of a page in the package leads to a file in the package', () => {
  const isPublished = (path: string) => published.some((name) => path === name || path.startsWith(`${name}/`))
  const outside = pageLinks.filter(({ from, target }) => isPublished(from) && !isPublished(target))
  expect(outside).toEqual([])
})

test('every link of a docs comment leads to a heading of a page in `docs`', () => {
  // Comments that are not published name a heading without making a link.
  const links = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(root + file, 'utf8').matchAll(/\b(docs\/[\w-]+\.md)(?:#([\w-]+))?/g)].map(
      ([, target = '', anchor]) => ({ from: file, target, anchor }),
    ),
  )
  expect(links.length).toBeGreaterThan(50)
  expect(links.filter(isBroken)).toEqual([])
})

test('the list of guides, which is the order of the site, has every page in a group', () => {
  const listed = guides.filter(({ group }) => group !== 'Project')
  expect(listed.map(({ path }) => path).sort()).toEqual(pages.filter((page) => /^docs\/[a-z]/.test(page)))
})

test('AGENTS.md fits a screen', () => {
  expect(readFileSync(`${root}AGENTS.md`, 'utf8').trim().split('\n').length).toBeLessThanOrEqual(60)
})
