/** Throws a `TypeError` that lists the valid keys if the object has any other key. */
export function rejectUnknownKeys(what: string, value: object, valid: readonly string[]): void {
  for (const key of Object.keys(value)) {
    if (valid.includes(key)) continue
    throw new TypeError(`Unknown ${what} \`${key}\`. Use one of: ${valid.map((name) => `\`${name}\``).join(', ')}.`)
  }
}
