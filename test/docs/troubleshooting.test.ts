import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { root } from './page.ts'

const page = readFileSync(`${root}docs/troubleshooting.md`, 'utf8')
const source = globSync('src/**/*.ts', { cwd: root }).map((path) => readFileSync(root + path, 'utf8'))
const text = source.join('\n').replaceAll('\\`', '`')

/** Messages of Node, TypeScript, browsers and HTTP. */
const ofOthers = /^(401|403|connect |getaddrinfo |The 'this' context|blocked by CORS)/

/** Returns the messages in the first column of a section's table. */
function messagesOf(heading: string): string[] {
  const [, section = ''] = new RegExp(`^## ${heading}\\n([^]*?)(?=^## |$(?![^]))`, 'm').exec(page) ?? []
  const cells = [...section.matchAll(/^\| (.+?) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) =>
    [...cell.matchAll(/`` (.+?) ``|`([^`]+)`/g)].map(([, long, short]) => long ?? short ?? ''),
  )
}

test('quotes what the code says', () => {
  const messages = messagesOf('Login and calls').filter((message) => !ofOthers.test(message))
  expect(messages.length).toBeGreaterThan(1)
  const isSaid = (message: string) =>
    text.includes(message) || text.includes(message.replace(/^`\w+` /, '')) || text.includes(`'${message}'`)
  expect(messages.filter((message) => !isSaid(message))).toEqual([])
})
