import type { BuiltInOperation } from '../../src/resources/operations.ts'
import type { DocumentedOperation } from './resources.ts'

const start = '<!-- endpoints:start -->'
const end = '<!-- endpoints:end -->'

/** Returns the README with a new endpoint table between the markers. Throws if a marker is missing. */
export function withEndpointTable(readme: string, documented: readonly DocumentedOperation[]): string {
  const [before, rest] = cut(readme, start)
  const [, after] = cut(rest, end)
  return `${before}${start}\n\n${renderTable(documented)}\n\n${end}${after}`
}

export function renderTable(documented: readonly DocumentedOperation[]): string {
  const rows = documented.map(({ operation, method, call }) => [
    `\`${call.replace('workspace.', '')}${argumentsOf(method.signature)}\``,
    `\`${operation.method} ${operation.path}\``,
    operation.scope === undefined ? '' : `\`${operation.scope}\``,
    actorOf(operation),
    operation.evidence,
  ])
  return alignTable([['Call', 'Request', 'Scope', 'Actor', 'Evidence'], ...rows])
}

export function actorOf({ actor }: BuiltInOperation): string {
  return actor === 'self' ? '`self`' : 'any'
}

export function alignTable(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>((widest, row) => row.map((cell, i) => Math.max(cell.length, widest[i] ?? 0)), [])
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')
}

/** Returns the required parameters of a method, without types: `(conversationId, body)`. */
function argumentsOf(signature: string): string {
  const names = signature.slice(signature.indexOf('(') + 1, signature.lastIndexOf('): ')).split(', ')
  const needed = names.flatMap((name) => /^(\w+): /.exec(name)?.[1] ?? [])
  return `(${needed.join(', ')})`
}

function cut(text: string, marker: string): [string, string] {
  const at = text.indexOf(marker)
  if (at === -1) throw new Error(`README.md has no ${marker}.`)
  return [text.slice(0, at), text.slice(at + marker.length)]
}
