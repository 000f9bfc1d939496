const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/**
 * The text of a message. Nothing here makes it safe: text from outside enters the page as text nodes, see `element`.
 * (`DOMParser` would do as well, but the page's Content-Security-Policy then reports each style in a message.)
 */
export function toText(bodyHtml: string): string {
  return bodyHtml
    .replace(/<(script|style)\b.*?<\/\1\s*>/gis, '')
    .replace(/<\/p\b[^>]*>/gi, '\n\n')
    .replace(/<(br|\/div|\/li|\/tr|\/h[1-6])\b[^>]*>/gi, '\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&#(\d{1,6});/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replace(/&(\w+);/g, (entity, name: string) => entities[name] ?? entity)
    .replace(/\s*\n\s*\n\s*/g, '\n\n')
    .trim()
}

/** What somebody typed, as the HTML of a message: paragraphs and line breaks, every other character as it is. */
export function toHtml(text: string): string {
  const escaped = text.trim().replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
  return escaped
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${paragraph.replaceAll('\n', '<br>')}</p>`)
    .join('')
}
