import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { InvalidArgumentError, textToHtml } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'

describe('textToHtml', () => {
  test.each([
    ['makes a paragraph of a line', 'On it.', '<p>On it.</p>'],
    ['keeps a line break', 'One\nTwo', '<p>One<br>Two</p>'],
    ['starts a paragraph after a blank line', 'One\n\nTwo', '<p>One</p><p>Two</p>'],
    ['starts one paragraph after several blank lines', 'One\n\n\n \n\nTwo', '<p>One</p><p>Two</p>'],
    ['treats a line of spaces and tabs as blank', 'One\n \t \nTwo', '<p>One</p><p>Two</p>'],
    ['drops one blank line at the start and the end', '\nOne\n', '<p>One</p>'],
    ['drops several blank lines at the start and the end', ' \n\n\nOne\n\n\t\n', '<p>One</p>'],
    ['keeps the spaces of a line', '  a\n   b  c ', '<p>  a<br>   b  c </p>'],
    ['returns nothing for an empty text', '', ''],
    ['returns nothing for blank lines', ' \n\t\r\n', ''],
    ['escapes markup', '<b a="1" c=\'2\'> & </b>', '<p>&#60;b a=&#34;1&#34; c=&#39;2&#39;&#62; &#38; &#60;/b&#62;</p>'],
    ['escapes an entity', '&lt;', '<p>&#38;lt;</p>'],
  ])('%s', (_, text, html) => {
    expect(textToHtml(text)).toBe(html)
  })

  test.each(['\n', '\r\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029'])('treats %j as a line break', (newline) => {
    expect(textToHtml(['a', 'b', '', 'c'].join(newline))).toBe('<p>a<br>b</p><p>c</p>')
  })

  test.each([undefined, null, 1, ['a'], { toString: () => 'a' }, new String('a')])('rejects %o', (value) => {
    const convert = () => textToHtml(value as string)
    expect(convert).toThrow(InvalidArgumentError)
    expect(convert).toThrow('`text` must be a string. Pass the plain text of the message.')
  })
})

describe('textToHtml of any text', () => {
  // Characters that markup, entities, lines and paragraphs are made of, more often than chance makes them.
  const pieces = '< > & " \' / = ; # !-- --> <br> </p> <script> &amp; &#60'.split(' ')
  const spaces = ['\n', '\r\n', '\r', '\u2028', ' ', '\t']
  const anyText = fc
    .array(fc.oneof(fc.constantFrom(...pieces), fc.constantFrom(...spaces), fc.string({ unit: 'binary' })))
    .map((parts) => parts.join(''))

  test('contains no markup but paragraphs and line breaks without attributes', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { tags } = parse(textToHtml(text))
        expect(tags.filter((tag) => !['<p>', '</p>', '<br>'].includes(tag))).toEqual([])
      }),
      { numRuns: 1000 },
    )
  })

  test('can be converted back to the same lines and paragraphs', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(parse(textToHtml(text)).paragraphs).toEqual(paragraphsOf(text))
      }),
      { numRuns: 1000 },
    )
  })
})

/** Reads HTML with a parser. Returns its tags, with their attributes, and the lines of each paragraph. */
function parse(html: string): { tags: string[]; paragraphs: string[][] } {
  const tags: string[] = []
  const paragraphs: string[][] = []
  const write = (text: string) => {
    const lines = paragraphs.at(-1)
    if (lines === undefined) throw new Error('There is text outside the paragraphs.')
    lines.push((lines.pop() ?? '') + text)
  }
  const refuse = (kind: string) => () => void tags.push(kind)
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        tags.push(`<${[name, ...Object.keys(attributes)].join(' ')}>`)
        if (name === 'p') paragraphs.push([''])
        if (name === 'br') paragraphs.at(-1)?.push('')
      },
      onclosetag: (name) => {
        if (name !== 'br') tags.push(`</${name}>`)
      },
      ontext: write,
      oncomment: refuse('comment'),
      oncdatastart: refuse('CDATA'),
      onprocessinginstruction: refuse('instruction'),
    },
    { decodeEntities: true },
  )
  parser.end(html)
  return { tags, paragraphs }
}

/** Returns the lines of each paragraph of a plain text. */
function paragraphsOf(text: string): string[][] {
  const paragraphs: string[][] = []
  let lines: string[] = []
  for (const line of text.replaceAll('\r\n', '\n').split(/[\n\v\f\r\u0085\u2028\u2029]/)) {
    if (line.trim() !== '') lines.push(line)
    else if (lines.length > 0) {
      paragraphs.push(lines)
      lines = []
    }
  }
  return lines.length > 0 ? [...paragraphs, lines] : paragraphs
}
