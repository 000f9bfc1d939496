import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guides } from '../../scripts/site/guides.ts'
import { phone, pictures, useBrowser, type Visitor } from './helpers/use-browser.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const visit = useBrowser()

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

/** Where `npm run docs` puts the site. */
const site = join(root, 'artifacts/site')

let server: Server
let url: string

beforeAll(async () => {
  execFileSync(process.execPath, ['node_modules/typedoc/bin/typedoc'], { cwd: root })
  server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    response.setHeader('content-type', types[extname(pathname)] ?? 'text/plain')
    response.end(await readFile(join(site, pathname)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}, 600_000)

afterAll(() => server?.close())

const read = (path: string) => readFileSync(join(site, path), 'utf8')

/** Returns the links of a file that lead to no file of the site, or to no heading or member of its page. */
function brokenLinks(path: string): string[] {
  const text = read(path)
  const links = path.endsWith('.html')
    ? [...text.matchAll(/(?:href|src)="(?!https?:|data:)([^"#]*)(?:#([^"]*))?"/g)]
    : [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g)]
  return links.flatMap(([link, to = '', anchor]) => {
    const target = to === '' ? path : join(dirname(path), to)
    if (!existsSync(join(site, target))) return [`${path}: ${link}`]
    if (!anchor || !target.endsWith('.html')) return []
    return anchor.startsWith('icon-') || read(target).includes(`id="${anchor}"`) ? [] : [`${path}: ${link}`]
  })
}

describe('the files', () => {
  test('every link of a page leads to a page, a heading or a member', () => {
    const pages = globSync('**/*.html', { cwd: site })
    expect(pages.length).toBeGreaterThan(200)
    expect(pages.flatMap(brokenLinks)).toEqual([])
  })

  test('no link opens a guide as raw Markdown', () => {
    expect(globSync('media/*.md', { cwd: site })).toEqual([])
  })

  test('each guide has a Markdown file beside it, whose links lead to files', () => {
    const files = guides.map(({ path }) => path.replace('docs/', 'guides/'))
    expect(files.filter((file) => !existsSync(join(site, file)))).toEqual([])
    expect([...files, 'index.md', 'llms.txt', 'llms-full.txt'].flatMap(brokenLinks)).toEqual([])
  })

  test('llms.txt lists the guides in the order of the sidebar, and llms-full.txt has all of them', () => {
    const listed = [...read('llms.txt').matchAll(/^- \[(.+?)\]/gm)].map(([, title]) => title)
    const titles = guides.map(({ title }) => title)
    expect(listed.filter((title = '') => titles.includes(title))).toEqual(titles)
    const full = read('llms-full.txt')
    const missing = guides.filter(({ group, title }) => group !== 'Project' && !full.includes(`# ${title}\n`))
    expect(missing).toEqual([])
  })
})

async function open({ page }: Visitor, path: string): Promise<void> {
  await page.goto(`${url}/${path}`)
  await page.locator('#tsd-nav-container a').first().waitFor({ state: 'attached' })
}

describe('in the browser', () => {
  test('a search for the title of a guide finds it', async () => {
    const visitor = await visit()
    await open(visitor, 'index.html')
    await visitor.page.getByRole('button', { name: 'Search' }).click()
    await visitor.page.getByRole('combobox').fill('Write journal')
    const found = visitor.page.getByRole('option')
    await found.first().waitFor()
    expect((await found.allTextContents()).join()).toMatch(/Write\s*journal/)
    await pictures(visitor.page, 'site')
  })

  const pages = ['index.html', ...guides.map(({ path }) => path.replace('docs/', 'guides/').replace(/md$/, 'html'))]

  test('no page scrolls sideways on a phone', async () => {
    const visitor = await visit(phone)
    for (const path of pages) {
      await open(visitor, path)
      const scrollWidth = await visitor.page.evaluate(() => document.documentElement.scrollWidth)
      expect(scrollWidth, path).toBe(phone.viewport.width)
    }
  })
})
