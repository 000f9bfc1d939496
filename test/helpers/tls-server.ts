import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'

type Certificate = 'valid' | 'self-signed' | 'expired' | 'not-yet-valid' | 'other-host'

export interface TlsServer {
  readonly url: string
  close(): Promise<void>
}

/** Returns the path of a file that `certificates/make.sh` made. */
export function certificatePath(name: Certificate | 'ca' | 'client' | 'key'): string {
  return new URL(`certificates/${name}.pem`, import.meta.url).pathname
}

export function readCertificate(name: Parameters<typeof certificatePath>[0]): string {
  return readFileSync(certificatePath(name), 'utf8')
}

/** Starts a TLS server on loopback in front of a plain one. With `requestCert`, clients need a certificate of the CA. */
export async function startTlsServer(
  upstreamUrl: string,
  { certificate = 'valid', requestCert = false }: { certificate?: Certificate; requestCert?: boolean } = {},
): Promise<TlsServer> {
  const sockets = new Set<TLSSocket>()
  const options = {
    key: readCertificate('key'),
    cert: readCertificate(certificate),
    ...(requestCert && { requestCert, ca: readCertificate('ca') }),
  }
  const server = createServer(options, (client) => {
    const upstream = connect(Number(new URL(upstreamUrl).port), '127.0.0.1')
    sockets.add(client)
    client.pipe(upstream).pipe(client)
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  })
  // A client that does not trust the certificate breaks the handshake.
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
