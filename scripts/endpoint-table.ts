// The endpoint table of README.md, from src/api.
import { operations } from '../src/api/index.ts'

const markers = /(<!-- endpoints:start -->\n\n)[\s\S]*(\n\n<!-- endpoints:end -->)/

/** Returns the README with a new endpoint table between the markers. Throws if a marker is missing. */
export function withEndpointTable(readme: string): string {
  if (!markers.test(readme)) throw new Error('README.md has no markers for the endpoint table.')
  return readme.replace(markers, (_, start, end) => `${start}${renderTable()}${end}`)
}

function renderTable(): string {
  const rows = Object.values(operations).map((operation) => [
    `\`${operation.id}(${argumentsOf(operation).join(', ')})\``,
    `\`${operation.method} ${operation.path.replace('/api/oauth/v1', '')}\``,
    operation.scope === undefined ? '' : `\`${operation.scope}\``,
    operation.actor === 'self' ? '`self`' : 'any',
    operation.evidence,
  ])
  return alignTable([['Call', 'Request', 'Scope', 'Actor', 'Evidence'], ...rows])
}

/** Returns the names of the required arguments: the ids in the path, then the body. */
export function argumentsOf({ path, body }: { readonly path: string; readonly body?: unknown }): string[] {
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const camelCase = ids.map((name) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()))
  return body === undefined ? camelCase : [...camelCase, 'body']
}

export function alignTable(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>((widest, row) => row.map((cell, i) => Math.max(cell.length, widest[i] ?? 0)), [])
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')
}
