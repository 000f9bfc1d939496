import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { textToHtml } from 'support-workspace-sdk'
import { htmlToText } from 'support-workspace-sdk/html'
import { describe, expect, test } from 'vitest'

describe('htmlToText', () => {
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
    expect(htmlToText(html)).toEqual({ text, quoted: '' })
  })

  test.each([
    ['a blockquote', 'Yes.<blockquote>Shall I?</blockquote>Soon.', 'Yes.\n\nSoon.', 'Shall I?'],
    ['a blockquote in a blockquote', '<blockquote>B<blockquote>A</blockquote>C</blockquote>D', 'D', 'B\n\nA\n\nC'],
    [
      'what Gmail quotes, with the line above it',
      'Yes.<div class="x gmail_quote"><div>Ada wrote:</div><blockquote>Shall I?</blockquote></div>',
      'Yes.',
      'Ada wrote:\n\nShall I?',
    ],
    [
      'the line that Thunderbird puts above',
      '<div class="moz-cite-prefix">Ada wrote:<br></div>Yes.',
      'Yes.',
      'Ada wrote:',
    ],
    [
      'all that follows the header of Outlook',
      'Yes.<div id="divRplyFwdMsg">From: Ada</div><div>Shall I?</div>',
      'Yes.',
      'From: Ada\nShall I?',
    ],
    ['lines that begin with >', '&gt; Shall I?<br>&gt; &gt; Well?<br>Yes.', 'Yes.', 'Shall I?\nWell?'],
    ['nothing of a script in a quote', '<blockquote><script>x</script>Shall I?</blockquote>', '', 'Shall I?'],
    ['text of other classes', '<div class="quote">Yes.</div>', 'Yes.', ''],
  ])('tells a quote apart: %s', (_, html, text, quoted) => {
    expect(htmlToText(html)).toEqual({ text, quoted })
  })

  test('refuses what is no string', () => {
    expect(() => htmlToText(null as never)).toThrow("`html` must be a string. Pass `message.body_html ?? ''`.")
  })

  test('returns the original text after textToHtml', () => {
    const typed = 'On it.\nMore <b>tomorrow</b> & "the" day after.\n\nYours'
    expect(htmlToText(textToHtml(typed)).text).toBe(typed)
    expect(htmlToText(textToHtml(typed.replaceAll('\n', '\r\n'))).text).toBe(typed)
  })
})

const blanks = [' ', '\n', ' \n']
const quotes = ['<blockquote>', '<div class=gmail_quote>', '<div class="a ', '</div>', '>\n', '<br>> ']
const tags = ['<', '</', '<a', '<a>', '</b>', '</p>', '<a></b>', '<p title="', '<p a=']
const entities = ['&', '&#', '&amp', '&notin']
const unclosed = ['<!--', '<!-- -', '<![CDATA[', '<?', '<script>', '<script></script', '<style></styl']
const hostilePieces = [...blanks, ...quotes, ...tags, ...entities, ...unclosed]

test('htmlToText of a hostile message of 100 kB takes linear time', async () => {
  // A worker, because counts of blocks are per thread and would otherwise mix with the coverage report of the whole suite.
  const workerData = { pieces: hostilePieces, length: 100_000 }
  const worker = new Worker(new URL('./count-steps.ts', import.meta.url), { workerData })
  const [steps] = await once(worker, 'message')
  for (const [index, piece] of hostilePieces.entries()) {
    expect(steps[index], `a repeated ${JSON.stringify(piece)}`).toBeGreaterThan(100_000)
    expect(steps[index], `a repeated ${JSON.stringify(piece)}`).toBeLessThan(60 * 100_000)
  }
})
