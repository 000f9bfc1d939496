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
import { operations } from '../../src/client/resources/built-in-operations.ts'
import { browserName } from './helpers/installed-browsers.ts'
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
  execFileSync(process.execPath, ['scripts/declarations.ts', 'artifacts/declarations'], { cwd: root })
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

  test('each page has a Markdown file beside it, whose links lead to files', () => {
    const pages = globSync('**/*.html', { cwd: site }).map((page) => page.replace(/html$/, 'md'))
    expect(pages.filter((page) => !existsSync(join(site, page)))).toEqual([])
    expect([...pages, 'llms.txt', 'llms-full.txt'].flatMap(brokenLinks)).toEqual([])
  })

  test('llms.txt lists the guides in the order of the sidebar, and llms-full.txt has all of them', () => {
    const listed = [...read('llms.txt').matchAll(/^- \[(.+?)\]/gm)].map(([, title]) => title)
    const titles = guides.map(({ title }) => title)
    expect(listed.filter((title = '') => titles.includes(title))).toEqual(titles)
    const full = read('llms-full.txt')
    const missing = guides.filter(({ group, title }) => group !== 'Project' && !full.includes(`# ${title}\n`))
    expect(missing).toEqual([])
  })

  test('the page of each resource shows what its methods send', () => {
    const pages = globSync('{classes,interfaces}/*.html', { cwd: site }).map(read).join('\n')
    for (const { method, path, id } of operations) expect(pages, id).toContain(`<code>${method} ${path}</code>`)
    expect(pages).not.toContain('SelfOnly')
  })
})

async function open({ page }: Visitor, path: string): Promise<void> {
  await page.goto(`${url}/${path}`)
  await page.locator('#tsd-nav-container a').first().waitFor({ state: 'attached' })
}

describe('in the browser', () => {
  test.each([
    ['conversations.list', /Conversations\.list$/],
    ['messages.create', /Messages\.create$/],
    ['logging', /^Logging and tracing$/],
    ['debug', /^Logging and tracing$/],
    ['fastify', /^Login with Fastify$/],
    ['paging', /^Pagination$/],
    ['retries', /^Retries and timeouts$/],
    ['token for a script', /^Get a token for a script$/],
    ['webhook', /^Poll for new messages$/],
    ['polling', /^Poll for new messages$/],
    ['idempotent', /^Write journal$/],
    ['message twice', /^Write journal$/],
    ['duplicate', /^Write journal$/],
    ['client id', /^Get credentials$/],
    ['401', /^(Troubleshooting|Errors)$/],
    ['mock', /^Test with the sandbox$/],
  ])('a search for %s finds it first', async (query, expected) => {
    const visitor = await visit()
    await open(visitor, 'index.html')
    await visitor.page.getByRole('button', { name: 'Search' }).click()
    await visitor.page.getByRole('combobox').fill(query)
    const first = visitor.page.getByRole('option').first()
    await first.waitFor()
    expect(((await first.textContent()) ?? '').replaceAll(/\s+/g, '')).toMatch(
      new RegExp(expected.source.replaceAll(' ', '')),
    )
  })

  test('the sidebar has the groups of the guides', async () => {
    const visitor = await visit()
    await open(visitor, 'index.html')
    const headings = await visitor.page.locator('#tsd-nav-container > li > span').allTextContents()
    expect(headings).toEqual([
      ...new Set(guides.map(({ group }) => group).filter((group) => group !== 'Project')),
      'API reference',
      'Project',
    ])
    const entries = await visitor.page.locator('#tsd-nav-container > li > a').allTextContents()
    const titles = guides.map(({ title }) => title.replaceAll('`', ''))
    expect(titles.filter((title) => !entries.includes(title))).toEqual([])
    await pictures(visitor.page, 'site')
  })

  /** Pages with the widest code and tables. */
  const pages = ['index.html', ...guides.map(({ path }) => path.replace('docs/', 'guides/').replace(/md$/, 'html'))]

  test('code and tables fit beside the sidebar of a screen of 1280 pixels', async () => {
    const visitor = await visit()
    for (const path of pages) {
      await open(visitor, path)
      const wide = await visitor.page
        .locator('.col-content :is(pre, table)')
        .evaluateAll((parts) => parts.filter((part) => part.scrollWidth > part.clientWidth + 1).length)
      expect(wide, path).toBe(0)
    }
  })

  test.skipIf(browserName === 'firefox')('copy buttons are visible on a touchscreen', async () => {
    const visitor = await visit({ ...phone, hasTouch: true, isMobile: true })
    await open(visitor, 'index.html')
    const [button] = await visitor.page.locator('pre > button').all()
    expect(await button?.evaluate((element) => getComputedStyle(element).opacity)).toBe('1')
  })

  test('no page scrolls sideways on a phone', async () => {
    const visitor = await visit(phone)
    for (const path of pages) {
      await open(visitor, path)
      const scrollWidth = await visitor.page.evaluate(() => document.documentElement.scrollWidth)
      expect(scrollWidth, path).toBe(phone.viewport.width)
    }
  })
})
