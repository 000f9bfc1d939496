import { connect } from 'node:net'

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const frameTypes = { headers: 1, reset: 3, settings: 4, goAway: 7 }

/**
 * Sends one HTTP/2 request as raw bytes, without the checks of a client, and waits for response headers, a reset, a
 * GOAWAY or the end of the connection.
 */
export function sendHttp2(port: number, fields: readonly (readonly [string, string])[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let received = Buffer.alloc(0)
    const finish = (outcome: string) => {
      socket.destroy()
      resolve(outcome)
    }
    socket.on('error', () => finish('closed'))
    socket.on('close', () => finish('closed'))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 9) {
        const length = received.readUIntBE(0, 3)
        if (received.length < 9 + length) return
        const type = received[3]
        received = received.subarray(9 + length)
        if (type === frameTypes.headers) return finish('response')
        if (type === frameTypes.reset) return finish('reset')
        if (type === frameTypes.goAway) return finish('closed')
      }
    })
    const block = Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]))
    // END_STREAM and END_HEADERS.
    socket.write(Buffer.concat([Buffer.from(preface), frame(frameTypes.settings, 0, 0), frame(1, 5, 1, block)]))
  })
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Encodes an HPACK string without Huffman coding (RFC 7541, section 5.2). */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes])
  const length = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128)
  return Buffer.concat([Buffer.of(...length, rest), bytes])
}
