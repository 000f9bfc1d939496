/** Returns a secret in the encodings a service may echo it in, alone and after other text. */
export function encodedForms(secret: string): string[] {
  const base64 = ['', 'id:', 'app:', 'app_abc123:', 'Bearer '].map((before) => Buffer.from(before + secret))
  const hex = [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
  return [
    encodeURIComponent(secret),
    encodeURIComponent(secret).replace(/%../g, (bytes) => bytes.toLowerCase()),
    new URLSearchParams([['', secret]]).toString().slice(1),
    hex.join(''),
    hex.join('').toUpperCase(),
    ...base64.map((text) => text.toString('base64')),
    ...base64.map((text) => text.toString('base64url')),
    ...base64.map((text) => encodeURIComponent(text.toString('base64'))),
  ]
}
