import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { textToHtml } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { toText } from '../../examples/shared/message-text.ts'

describe('toText', () => {
  test.each([
    ['paragraphs and line breaks', '<p>One<br>two</p><p>Three</p>', 'One\ntwo\n\nThree'],
    ['no more than one empty line', '<p>One</p>\n \n\n<div></div><p>Two</p>', 'One\n\nTwo'],
    ['list items on separate lines', '<ul><li>One</li><li>Two</li></ul>End', 'One\nTwo\n\nEnd'],
    ['named and numeric entities', '&lt;b&gt; &amp;amp; &eacute;&#233;&#x1F600;', '<b> &amp; éé😀'],
    ['an ampersand and a less-than sign that begin nothing', 'a & b < c && d', 'a & b < c && d'],
    ['nothing of scripts, styles and comments', 'a<script>if (1<2) "</p>"</script><STYLE>p{}</STYLE><!-- b -->c', 'ac'],
    ['text after a script with the end tag of another element in it', '<script>"</style>"</script>text', 'text'],
    ['an entity beyond Unicode as a replacement character', '&#x110000;', '\uFFFD'],
    ['nothing of attributes', '<a title="1 > 0" href=x>link</a>', 'link'],
  ])('returns %s', (_, html, text) => {
    expect(toText(html)).toBe(text)
  })

  test('returns the original text after textToHtml', () => {
    const typed = 'On it.\nMore <b>tomorrow</b> & "the" day after.\n\nYours'
    expect(toText(textToHtml(typed))).toBe(typed)
    expect(toText(textToHtml(typed.replaceAll('\n', '\r\n')))).toBe(typed)
  })
})

const blanks = [' ', '\n', ' \n']
const tags = ['<', '</', '<a', '<a>', '</b>', '</p>', '<a></b>', '<p title="', '<p a=']
const entities = ['&', '&#', '&amp', '&notin']
const unclosed = ['<!--', '<!-- -', '<![CDATA[', '<?', '<script>', '<script></script', '<style></styl']
const hostilePieces = [...blanks, ...tags, ...entities, ...unclosed]

test('toText of a hostile message of 100 kB takes linear time', async () => {
  // A worker, because counts of blocks are per thread and would otherwise mix with the coverage report of the whole suite.
  const workerData = { pieces: hostilePieces, length: 100_000 }
  const worker = new Worker(new URL('./helpers/count-steps.ts', import.meta.url), { workerData })
  const [steps] = await once(worker, 'message')
  for (const [index, piece] of hostilePieces.entries()) {
    expect(steps[index], `a repeated ${JSON.stringify(piece)}`).toBeGreaterThan(100_000)
    expect(steps[index], `a repeated ${JSON.stringify(piece)}`).toBeLessThan(60 * 100_000)
  }
})
