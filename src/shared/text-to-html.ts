import { InvalidArgumentError } from '../errors/index.ts'

/** A line break of any platform, including the characters that Unicode defines as line breaks. */
const lineBreak = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/

/**
 * Converts plain text to HTML for `body_html`. The text is escaped, so none of it becomes markup.
 *
 * Blank lines separate paragraphs (`<p>`), and other line breaks become `<br>`. Blank lines at the start and the end
 * are dropped, and a blank text becomes an empty string. Spaces are kept, but as in all HTML, browsers collapse
 * indentation and consecutive spaces.
 *
 * @example
 * const body_html = textToHtml('Hi Ada,\n\n1 < 2.\nBye') // '<p>Hi Ada,</p><p>1 &#60; 2.<br>Bye</p>'
 * await workspace.messages.create(id, { body_html })
 *
 * @throws InvalidArgumentError when `text` is not a string
 */
export function textToHtml(text: string): string {
  if (typeof text !== 'string') {
    throw new InvalidArgumentError('text', '`text` must be a string.', 'Pass the plain text of the message.')
  }
  const lines = text.split(lineBreak).map((line) => (line.trim() === '' ? '' : escapeHtml(line)))
  return ['', '', ...lines, '', '']
    .join('\n')
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => `<p>${paragraph.replaceAll('\n', '<br>')}</p>`)
    .join('')
}

/** Escapes text for HTML, in an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
