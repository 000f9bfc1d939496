// Tables and quotations of the pages, compared with the code.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkClientOptions, settingsOf } from '../../src/core/settings.ts'
import { readPage, root } from './page.ts'
import { programs } from './programs/index.ts'

const read = (path: string) => readFileSync(root + path, 'utf8')

/** Returns the names in the first column of the table whose first heading is given. */
function firstColumn(path: string, heading: string): string[] {
  const table = new RegExp(`^\\| \`?${heading}\`? \\| .+\\n\\| ---.+\\n((?:\\|.+\\n)+)`, 'm')
  const [, rows = ''] = table.exec(read(path)) ?? []
  return rows
    .split('\n')
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

function messageOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    return String(error)
  }
  throw new Error('It did not throw.')
}

test('client-options.md lists every option of a client, with its default', () => {
  const [, list = ''] = /Use one of: (.+)\./.exec(messageOf(() => checkClientOptions({ other: 1 } as never))) ?? []
  const names = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(10)
  expect(firstColumn('docs/client-options.md', 'Option').sort()).toEqual(names.sort())
  const defaults = Object.entries(
    settingsOf(checkClientOptions({ baseUrl: 'http://localhost', accessToken: 'swot_x' })),
  )
  const given = defaults.filter(([name, value]) => typeof value === 'number' || name === 'validation')
  expect(given).toHaveLength(6)
  for (const [name, value] of given) {
    const written = typeof value === 'number' ? value.toLocaleString('en') : `\`${value}\``
    expect(read('docs/client-options.md')).toMatch(new RegExp(`^\\| \`${name}\` \\| .+ \\| ${written} \\|$`, 'm'))
  }
})

test('error-classes.md has every error class', async () => {
  const entries = [
    await import('support-workspace-sdk'),
    await import('support-workspace-sdk/oauth'),
    await import('support-workspace-sdk/journal'),
  ]
  const names = entries.flatMap((entry) => Object.keys(entry)).filter((name) => /^[A-Z].*Error$/.test(name))
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !read('docs/error-classes.md').includes(`\`${name}\``))).toEqual([])
})

test('jobs.md starts a script again as the table of exit codes says', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| (\d+) \| .+ \| (\w+).+\|$/gm)]
  const stopping = rows.filter(([, , verb]) => verb?.startsWith('stops')).map(([, code]) => code)
  expect(rows).toHaveLength(5)
  expect(stopping.sort()).toEqual(['1', '70', '77'])
  const [, codes = ''] = /RestartPreventExitStatus=([\d ]+)`/.exec(read('docs/jobs.md')) ?? []
  // The command also ends with 2 and 3.
  expect(codes.split(' ').filter((code) => !['2', '3'].includes(code))).toEqual(stopping)
})

test('concepts.md quotes the compiler', () => {
  const [firstLine = ''] = read('test/types/app-client-error.txt').split('\n')
  const sentence = firstLine.replace(/^.*?: error TS\d+: /, '')
  expect(sentence).toContain('This call needs an actor=self token')
  expect(read('docs/concepts.md')).toContain(sentence)
})

test('every page with a program is run by a test', () => {
  const pages = [
    'README.md',
    'AGENTS.md',
    ...new Set([...read('docs/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name]) => `docs/${name}`)),
  ]
  expect(pages.filter((path) => readPage(path).files.size > 0).sort()).toEqual(Object.keys(programs).sort())
})
