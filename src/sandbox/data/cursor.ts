import { createHmac } from 'node:crypto'

/**
 * Cursors name a place in one list by its sequence number, so that they stay good while items come and go.
 * They carry a keyed digest, so one that was built or taken from another list is refused.
 */
export function writeCursor(list: string, sequence: number): string {
  const place = Buffer.alloc(placeLength)
  place.writeUIntBE(sequence, 0, placeLength)
  return Buffer.from([...awkwardStart, ...mask(place), ...seal(list, place)]).toString('base64')
}

/** Gives the sequence number back, or `undefined` when this list never issued such a cursor. */
export function readCursor(list: string, cursor: string): number | undefined {
  const bytes = Buffer.from(cursor, 'base64')
  if (bytes.length !== cursorLength) return undefined
  const place = mask(bytes.subarray(awkwardStart.length, awkwardStart.length + placeLength))
  const sequence = Buffer.from(place).readUIntBE(0, placeLength)
  return writeCursor(list, sequence) === cursor ? sequence : undefined
}

// In base64 these bytes read `+/+/`, and 22 bytes end in `==`: a client that forgets to encode a cursor in a query
// always fails here, instead of once in a while with the real service.
const awkwardStart = [0xfb, 0xff, 0xbf]
const placeLength = 6
const sealLength = 13
const cursorLength = awkwardStart.length + placeLength + sealLength

// Fixed, so that a resume point which a program saved is still good after the sandbox starts again.
const key = 'support-workspace-sdk sandbox cursor'
const disguise = [0x5a, 0xc3, 0x96, 0x3c, 0xa5, 0x69]

function seal(list: string, place: Uint8Array): Uint8Array {
  return createHmac('sha256', key).update(`${list}\n`).update(place).digest().subarray(0, sealLength)
}

function mask(place: Uint8Array): Uint8Array {
  return place.map((byte, index) => byte ^ (disguise[index] ?? 0))
}
