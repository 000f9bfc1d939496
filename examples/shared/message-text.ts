import { Tokenizer } from 'htmlparser2'

const paragraphElements = new Set(['p', 'blockquote', 'pre', 'ul', 'ol', 'table'])
const lineElements = new Set(['br', 'div', 'li', 'tr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'])
const hiddenElements = new Set(['script', 'style', 'title'])

/**
 * Returns the text of a message's HTML, in time proportional to its length. The tokenizer ignores how deep elements are
 * nested, so deep HTML is as fast as flat HTML. **Warning:** The result is not safe as HTML. Escape it before you put
 * it into a page.
 */
export function toText(bodyHtml: string): string {
  const parts: string[] = []
  let hidden: string | undefined
  const nameAt = (start: number, end: number) => bodyHtml.slice(start, end).toLowerCase()
  const write = (text: string) => {
    if (hidden === undefined) parts.push(text)
  }
  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (start, end) => write(bodyHtml.slice(start, end)),
      ontextentity: (codePoint) => write(String.fromCodePoint(codePoint)),
      onopentagname: (start, end) => {
        const name = nameAt(start, end)
        if (name === 'br') write('\n')
        if (hidden === undefined && hiddenElements.has(name)) hidden = name
      },
      onclosetag: (start, end) => {
        const name = nameAt(start, end)
        if (name === hidden) hidden = undefined
        else if (paragraphElements.has(name)) write('\n\n')
        else if (lineElements.has(name)) write('\n')
      },
      onattribdata: ignore,
      onattribend: ignore,
      onattribentity: ignore,
      onattribname: ignore,
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
    },
  )
  tokenizer.write(bodyHtml)
  tokenizer.end()
  return collapseEmptyLines(parts.join(''))
}

/** Trims every line, and replaces consecutive empty lines with one. */
function collapseEmptyLines(text: string): string {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    const trimmed = line.trim()
    if (trimmed !== '' || lines.at(-1) !== '') lines.push(trimmed)
  }
  return lines.join('\n').trim()
}

function ignore(): void {}
