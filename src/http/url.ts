import { InvalidArgumentError } from '../errors/index.ts'
import { checkPath, type Operation } from '../operation.ts'
import type { CheckedInput } from './take-input.ts'

/** The address of a call: base URL, path with its parameters encoded, query. */
export function buildUrl(baseUrl: URL, operation: Operation, input: Pick<CheckedInput, 'path' | 'query'>): string {
  checkPath(operation)
  return baseUrl.href.replace(/\/$/, '') + fillPath(operation.path, input.path) + encodeQuery(input.query)
}

function fillPath(path: string, parameters: Readonly<Record<string, string>>): string {
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeSegment(name, parameters[name]))
}

function encodeSegment(name: string, value: unknown): string {
  // "." and ".." would climb out of the path: a URL parser folds them even when they are percent-encoded.
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..' || !value.isWellFormed()) {
    throw new InvalidArgumentError(
      name,
      `The path parameter \`${name}\` is not a usable id.`,
      'Pass the id as the service gave it: a string that is not empty, "." or "..".',
    )
  }
  return encodeURIComponent(value)
}

function encodeQuery(query: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const single of Array.isArray(value) ? value : [value]) {
      if (single !== undefined && single !== null) parameters.append(name, encodeValue(name, single))
    }
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

function encodeValue(name: string, value: unknown): string {
  const usable =
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && value.isWellFormed())
  if (!usable) {
    throw new InvalidArgumentError(
      name,
      `The query parameter \`${name}\` cannot be written into a URL.`,
      'Pass a string, a finite number, a boolean, or a list of them.',
    )
  }
  return String(value)
}
