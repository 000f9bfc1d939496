/**
 * The text of a message's HTML, for a language model, a list or a search index.
 *
 * @module support-workspace-sdk/html
 */
import { Tokenizer } from 'htmlparser2'
import { InvalidArgumentError } from '../errors/index.ts'

/** The text of a message. */
export interface HtmlText {
  /** What the author wrote. Paragraphs are separated by an empty line. */
  readonly text: string
  /** What the message quotes of earlier messages. Empty if it quotes nothing. */
  readonly quoted: string
}

const setOf = (names: string) => new Set(names.split(' '))
/** Elements with an empty line before and after them. */
const paragraphElements = setOf('p blockquote pre ul ol dl table')
/** Elements that begin a new line, and so does what follows them. */
const lineElements = setOf(
  'address article aside body caption center dd details dialog dir div dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav optgroup option search section summary tbody tfoot thead tr',
)
const cellElements = setOf('td th')
const hiddenElements = setOf('script style title')
/** In these, `<title/>` closes itself, and the content of a style or script ends at any tag. */
const foreignElements = setOf('svg math')
/** Classes of the element that mail programs put around a quoted message, or around the line above it. */
const quoteClasses = new Set([
  'gmail_quote',
  'gmail_quote_container',
  'moz-cite-prefix',
  'protonmail_quote',
  'yahoo_quoted',
])
/** Ids of the element with which Outlook begins a quoted message, which goes on to the end. */
const quoteStarts = new Set(['divrplyfwdmsg', 'appendonsend'])

/**
 * Returns the text of a message's HTML, in time proportional to its length. Scripts, styles, titles and comments are
 * left out. Cells of a row are separated by a tab. Text of a quoted message is in `quoted`: the content of `<blockquote>`, of the elements that Gmail, Outlook,
 * Proton Mail, Thunderbird and Yahoo put around it, and lines that begin with `>`.
 *
 * The result is text, so it can contain `<` and `&`. Escape it before you put it into a page.
 *
 * @example
 * htmlToText('<p>Yes, please.</p><blockquote>Shall I refund it?</blockquote>')
 * // { text: 'Yes, please.', quoted: 'Shall I refund it?' }
 *
 * @throws InvalidArgumentError when `html` is not a string
 */
export function htmlToText(html: string): HtmlText {
  if (typeof html !== 'string') {
    throw new InvalidArgumentError('html', '`html` must be a string.', "Pass `message.body_html ?? ''`.")
  }
  const [text, quoted] = [new Lines(), new Lines()]
  let hidden: string | undefined
  /** How many elements of `foreignElements` are open. */
  let foreign = 0
  /** The element that quotes, and how many elements of this name are open in it. The tokenizer has no stack. */
  let quote: { readonly name: string; depth: number } | undefined
  let [element, attribute, value] = ['', '', '']
  const nameAt = (start: number, end: number) => html.slice(start, end).toLowerCase()
  const lines = () => (quote === undefined ? text : quoted)
  const write = (part: string) => {
    if (hidden === undefined) lines().write(part)
  }
  const breakAt = (name: string) => {
    if (paragraphElements.has(name)) write('\n\n')
    else if (lineElements.has(name) && !lines().isBlank) write('\n')
  }
  const closeForeign = () => {
    foreign -= 1
    hidden = undefined
  }
  const beginQuote = (name: string) => {
    write('\n\n')
    quote = { name, depth: 1 }
  }
  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (start, end) => write(html.slice(start, end)),
      ontextentity: (codePoint) => write(String.fromCodePoint(codePoint)),
      onopentagname: (start, end) => {
        element = nameAt(start, end)
        if (foreign > 0 && hidden !== 'title') hidden = undefined
        if (hidden !== undefined) return
        breakAt(element)
        if (element === 'br') write('\n')
        if (cellElements.has(element) && !lines().isBlank) write('\t')
        if (foreignElements.has(element)) foreign += 1
        if (hiddenElements.has(element)) hidden = element
        else if (quote?.name === element) quote.depth += 1
        else if (quote === undefined && element === 'blockquote') beginQuote(element)
      },
      onattribname: (start, end) => {
        attribute = nameAt(start, end)
        value = ''
      },
      onattribdata: (start, end) => {
        if (attribute === 'class' || attribute === 'id') value += nameAt(start, end)
      },
      onattribend: () => {
        if (quote !== undefined || hidden !== undefined || element !== 'div') return
        if (attribute === 'id' && quoteStarts.has(value)) beginQuote('')
        if (attribute === 'class' && value.split(' ').some((name) => quoteClasses.has(name))) beginQuote(element)
      },
      onclosetag: (start, end) => {
        const name = nameAt(start, end)
        if (foreign > 0 && foreignElements.has(name)) closeForeign()
        if (name === hidden) hidden = undefined
        // Browsers read `</br>` as `<br>`.
        else if (name === 'br') write('\n')
        else breakAt(name)
        if (quote?.name !== name) return
        quote.depth -= 1
        if (quote.depth === 0) quote = undefined
      },
      isInForeignContext: () => foreign > 0,
      onselfclosingtag: () => {
        if (foreign === 0) return
        if (foreignElements.has(element)) closeForeign()
        else if (element === hidden) hidden = undefined
      },
      onattribentity: ignore,
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  const written = text.all()
  const marked = written.filter((line) => line.startsWith('>')).map(withoutMarks)
  return {
    text: joined(written.filter((line) => !line.startsWith('>'))),
    quoted: joined([...marked, ...(marked.length > 0 ? [''] : []), ...quoted.all()]),
  }
}

class Lines {
  readonly #parts: string[] = []
  /** Whether nothing is in the last line. */
  isBlank = true

  write(part: string): void {
    const end = part.lastIndexOf('\n') + 1
    this.isBlank = (this.isBlank || end > 0) && part.slice(end).trim() === ''
    this.#parts.push(part)
  }

  all(): string[] {
    return this.#parts
      .join('')
      .split('\n')
      .map((line) => line.trim())
  }
}

/** Returns a line without the `>` at its start. */
function withoutMarks(line: string): string {
  let start = 0
  while (line[start] === '>' || line[start] === ' ') start += 1
  return line.slice(start)
}

/** Joins lines, and replaces consecutive empty lines with one. */
function joined(lines: readonly string[]): string {
  return lines
    .filter((line, index) => line !== '' || lines[index - 1] !== '')
    .join('\n')
    .trim()
}

function ignore(): void {}
