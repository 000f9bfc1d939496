const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/**
 * Returns what a person reads of HTML, without any whitespace: services change tags, attributes, entities and spaces of
 * the HTML that they store.
 */
export function plainText(html: string): string {
  return (
    html
      // A tag ends before the next `<`. Otherwise text of many `<` would take quadratic time.
      .replace(/<[a-z!/][^<>]*>/gi, '')
      .replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]{2,6}));/gi, (entity, hex, decimal, name) => {
        if (name !== undefined) return entities[name.toLowerCase()] ?? entity
        const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
        return code <= 0x10ffff ? String.fromCodePoint(code) : entity
      })
      .normalize()
      .replace(/[\s\u200b\ufeff]+/g, '')
  )
}
