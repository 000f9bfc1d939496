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
    ['empty lines that the author wrote', '<div>One</div><div><br></div><div>Two</div>', 'One\n\nTwo'],
  ])('returns %s', (_, html, text) => {
    expect(htmlToText(html)).toEqual({ text, quoted: '' })
  })

  test.each([
    ['Do not refund 10<div>5 EUR is enough</div>', 'Do not refund 10\n5 EUR is enough'],
    ['<div>Order 12<div>34 items</div>56 left</div>78', 'Order 12\n34 items\n56 left\n78'],
    ['<p>Yes<p>No', 'Yes\n\nNo'],
    ['Yes<p>No</p>', 'Yes\n\nNo'],
    ['<ul><li>1<li>2</ul>', '1\n2'],
    ['Hi<ul><li>1</li></ul>', 'Hi\n\n1'],
    ['<table><tr><td>Qty 1</td><td>2 EUR</td></tr><tr><th>3<td>4</table>5', 'Qty 1\t2 EUR\n3\t4\n\n5'],
    ['<table><caption>1</caption><thead><tr><td>2</thead><tbody><tr><td>3</table>', '1\n2\n3'],
    ['<table><tr><td>1</td><td>&gt; 5</td></tr></table>', '1\t> 5'],
    ['1<hr>2', '1\n2'],
    ['1<dl><dt>2</dt><dd>3</dd><dt>4<dd>5</dl>6', '1\n\n2\n3\n4\n5\n\n6'],
    ['1<h1>2</h1>3', '1\n2\n3'],
    ['1<section>2<article>3</article></section><footer>4', '1\n2\n3\n4'],
    ['1<blockquote></blockquote>2', '1\n\n2'],
    ['1</br>2', '1\n2'],
    ['1<b>0</b><span>5</span><a>0</a>', '1050'],
  ])('joins no words of blocks and cells: %j', (html, text) => {
    expect(htmlToText(html)).toEqual({ text, quoted: '' })
  })

  test.each([
    ['<svg><title/></svg>shown'],
    ['<svg><style/></svg>shown'],
    ['<svg><script/></svg>shown'],
    ['<math><title/></math>shown'],
    ['<svg><title></svg>shown'],
    ['<svg><style>hidden</svg>shown'],
    ['<svg><script>hidden<p>shown'],
    ['<svg><title>hidden</title></svg>shown'],
    ['<svg><svg/><title/></svg>shown'],
    ['<svg/><title>hidden</title>shown<title/>hidden'],
    ['</svg><style>"</svg>"</style>shown'],
  ])('returns what follows a hidden element of svg and math: %j', (html) => {
    expect(htmlToText(html)).toEqual({ text: 'shown', quoted: '' })
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
const blocks = ['<div>', ' <div>', '<td>', '1<td>', '<svg>', '<svg/>', '<svg><title/>', '<svg><style>']
const tags = ['<', '</', '<a', '<a>', '</b>', '</p>', '<a></b>', '<p title="', '<p a=']
const entities = ['&', '&#', '&amp', '&notin']
const unclosed = ['<!--', '<!-- -', '<![CDATA[', '<?', '<script>', '<script></script', '<style></styl']
const hostilePieces = [...blanks, ...quotes, ...blocks, ...tags, ...entities, ...unclosed]

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
