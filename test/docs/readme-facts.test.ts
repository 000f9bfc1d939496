// What the README and two other pages say of the package, compared with the package.
import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { root } from './page.ts'

const readme = readFileSync(`${root}README.md`, 'utf8').replaceAll(/\s+/g, ' ')

test('the README names the tarball of this version', () => {
  expect(readme).toContain(`support-workspace-sdk-${manifest.version}.tgz`)
  expect(readme).toContain(`**Status: ${manifest.version}, `)
})

test('the picture of the tour shows what the tour prints', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import('../../examples/tour.ts')
  const printed = log.mock.calls.flatMap(([text]) => String(text).trim().split('\n'))
  log.mockRestore()
  const picture = readFileSync(`${root}docs/tour.svg`, 'utf8')
  const rows = [...picture.matchAll(/<text[^>]*>(.*)<\/text>/g)].map(([, row = '']) => row.replaceAll(/<[^>]*>/g, ''))
  // The port changes with each run.
  const withoutPort = (lines: string[]) => lines.map((line) => line.replace(/127\.0\.0\.1:\d+/, '127.0.0.1'))
  expect(withoutPort(rows)).toEqual(['$ npm start', ...withoutPort(printed)])
})
