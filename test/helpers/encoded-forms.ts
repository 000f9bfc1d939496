/** Returns a secret in the encodings a service may echo it in, plain among them if one of them changes nothing. */
export function encodedForms(secret: string): string[] {
  const hex = [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
  const json = JSON.stringify(secret).slice(1, -1)
  const forms = [
    encodeURIComponent(secret),
    encodeURIComponent(secret).replace(/%../g, (bytes) => bytes.toLowerCase()),
    new URLSearchParams([['', secret]]).toString().slice(1),
    hex.join(''),
    hex.join('').toUpperCase(),
    json,
    json.replaceAll('/', '\\/'),
  ]
  return [...new Set(forms)]
}
