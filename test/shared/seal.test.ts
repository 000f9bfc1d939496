import { hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createSealer } from '../../src/shared/seal.ts'

const secret = 'a secret of this app, 32 characters or more'

const opened = (value: unknown, outdated = false) => ({ ok: true, value, outdated })

describe('an encrypted text', () => {
  test('is decrypted to any JSON value that was encrypted', async () => {
    const sealer = createSealer(secret, 'test')
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const expected = JSON.parse(JSON.stringify(value))
        expect(await sealer.open(await sealer.seal(value))).toEqual(opened(expected))
      }),
      { numRuns: 100 },
    )
  })

  test('is not decrypted after any character was changed', async () => {
    const sealer = createSealer(secret, 'test')
    const sealed = await sealer.seal({ codeVerifier: 'v' })
    const position = fc.integer({ min: 0, max: sealed.length - 1 })
    await fc.assert(
      fc.asyncProperty(position, fc.constantFrom(...'AZaz09-_.!'), async (index, character) => {
        fc.pre(sealed[index] !== character)
        const changed = sealed.slice(0, index) + character + sealed.slice(index + 1)
        const result = await sealer.open(changed)
        // The last character of a part may contain bits that decoders ignore; the content is then unchanged.
        if (result.ok) expect(result.value).toEqual({ codeVerifier: 'v' })
        else expect(['malformed', 'unknown-key', 'tampered']).toContain(result.failure)
      }),
      { numRuns: 200 },
    )
  })

  const unnamedKey = `${Buffer.from('{"alg":"dir","enc":"A256GCM","kid":7}').toString('base64url')}..a.b.c`
  test.each(['', '.', 'abc', 'a.b.c.d.e', '{}', 'é', 'eyJhbGciOiJub25lIn0..', unnamedKey])(
    'is malformed if it is %j',
    async (text) => {
      expect(await createSealer(secret, 'test').open(text)).toEqual({ ok: false, failure: 'malformed' })
    },
  )

  test('reveals only the algorithm and the id of the key', async () => {
    const sealed = await createSealer(secret, 'test').seal({ codeVerifier: 'v' })
    expect(decodeProtectedHeader(sealed)).toEqual({
      alg: 'dir',
      enc: 'A256GCM',
      kid: expect.stringMatching(/^[0-9a-f]{16}$/),
    })
    expect(Buffer.from(sealed, 'base64url').toString()).not.toContain('codeVerifier')
  })

  const derive = (label: string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, '', `support-workspace-sdk test ${label}`, length))

  test('names its key by an id that is derived separately from the key', async () => {
    const sealed = await createSealer(secret, 'test').seal('value')
    const key = derive('key', 32)
    const { plaintext } = await compactDecrypt(sealed, key)
    expect(JSON.parse(Buffer.from(plaintext).toString())).toEqual({ value: 'value' })
    const { kid } = decodeProtectedHeader(sealed)
    expect(kid).toBe(derive('key id', 8).toString('hex'))
    expect(key.toString('hex')).not.toContain(kid)
  })

  test('has a key that cannot be exported', async () => {
    const deriveKey = vi.spyOn(crypto.subtle, 'deriveKey')
    onTestFinished(() => deriveKey.mockRestore())
    await createSealer(secret, 'test').seal('value')
    const keys = await Promise.all(deriveKey.mock.results.map(({ value }) => value as Promise<CryptoKey>))
    expect(keys.map(({ extractable }) => extractable)).toEqual([false])
  })

  test('is not decrypted if it is compressed, or with another algorithm under the id of its key', async () => {
    const sealer = createSealer(secret, 'test')
    const { kid } = decodeProtectedHeader(await sealer.seal('value'))
    const forge = (header: { readonly alg?: string; readonly enc?: string; readonly zip?: string }) =>
      new CompactEncrypt(new TextEncoder().encode('{"value":"value"}'))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid, ...header } as never)
        .encrypt(derive('key', 32))
    expect(await sealer.open(await forge({}))).toEqual(opened('value'))
    for (const header of [{ zip: 'DEF' }, { alg: 'A256KW' }, { enc: 'A128CBC-HS256' }]) {
      expect(await sealer.open(await forge(header))).toEqual({ ok: false, failure: 'tampered' })
    }
  })

  test('differs each time', async () => {
    const sealer = createSealer(secret, 'test')
    expect(await sealer.seal('same')).not.toBe(await sealer.seal('same'))
  })

  test('is not decrypted for another purpose', async () => {
    const sealed = await createSealer(secret, 'one').seal('value')
    expect(await createSealer(secret, 'other').open(sealed)).toEqual({ ok: false, failure: 'unknown-key' })
  })
})
