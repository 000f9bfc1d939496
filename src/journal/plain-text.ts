/**
 * Loads the function that returns what a person reads of HTML, without any whitespace: services change tags,
 * attributes, entities and spaces of the HTML that they store. The names of all entities are large, so they are loaded
 * when a text is first compared.
 */
export async function loadPlainText(): Promise<(html: string) => string> {
  const { htmlToText } = await import('../html/index.ts')
  return (html) => {
    const { text, quoted } = htmlToText(html)
    return `${text}${quoted}`.normalize().replace(/[\s\u200b\ufeff]+/g, '')
  }
}
