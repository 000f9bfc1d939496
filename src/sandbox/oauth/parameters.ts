/** Returns the first parameter that was sent more than once, which RFC 6749, 3.1 and 3.2, forbid. */
export function repeatedParameter(parameters: URLSearchParams): string | undefined {
  const seen = new Set<string>()
  for (const name of parameters.keys()) {
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** Returns the value of a parameter. An empty value counts as not sent (RFC 6749, 3.1). */
export function parameter(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.get(name) || undefined
}
