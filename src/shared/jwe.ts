import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'

// A separate file, which is loaded when something is first encrypted or decrypted. Most programs do not need it.

/** Encrypts as compact JWE (RFC 7516) with `dir` and `A256GCM`. */
export function encrypt(plaintext: Uint8Array, kid: string, key: CryptoKey): Promise<string> {
  return new CompactEncrypt(plaintext).setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid }).encrypt(key)
}

/** @throws unless the text was encrypted with the key */
export async function decrypt(sealed: string, key: CryptoKey): Promise<Uint8Array> {
  const { plaintext } = await compactDecrypt(sealed, key, {
    keyManagementAlgorithms: ['dir'],
    contentEncryptionAlgorithms: ['A256GCM'],
    maxDecompressedLength: 0,
  })
  return plaintext
}

/** Returns the key id in the header, which nothing protects yet. */
export function keyIdOf(sealed: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(sealed)
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}
