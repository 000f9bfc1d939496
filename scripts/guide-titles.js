// A plugin of TypeDoc: a guide is named after its first heading, instead of after its file.
import { Converter } from 'typedoc'

export function load({ converter }) {
  converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, guide) => {
    const [first] = guide.content
    const [heading, title] = /^# (.+)\n/.exec(first?.text ?? '') ?? []
    if (heading === undefined) throw new Error(`${guide.name} does not start with a heading.`)
    guide.name = title
    guide.frontmatter.group = 'Guides'
  })
}
