/** Returns bytes as lower-case hexadecimal digits. */
export function toHex(bytes: Iterable<number>): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Returns the SHA-256 digest of a text in UTF-8, as hexadecimal digits. */
export async function sha256(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}

/** Returns 80 random bits as hexadecimal digits. */
export function randomId(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(10)))
}
