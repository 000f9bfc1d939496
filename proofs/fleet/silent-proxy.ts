import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'

export interface SilentProxy {
  /** The path of its Unix socket. */
  readonly path: string
  /** Nothing passes on the connections of now and of the next `pause` milliseconds, for ever. They stay open. */
  silence(pause: number): Promise<void>
  close(): void
}

/** Passes on what comes to a Unix socket to the server at another, until connections go silent as after a failover. */
export async function startProxy(path: string, target: string): Promise<SilentProxy> {
  let isSilent = false
  const sockets = new Set<Socket>()
  const keep = (socket: Socket, other?: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      other?.destroy()
    })
  }
  const server = createServer((client) => {
    if (isSilent) return keep(client)
    const upstream = connect(target)
    keep(client, upstream)
    keep(upstream, client)
    client.pipe(upstream).pipe(client)
  })
  await once(server.listen(path), 'listening')
  return {
    path,
    silence: async (pause) => {
      isSilent = true
      for (const socket of sockets) socket.unpipe().pause()
      await setTimeout(pause)
      isSilent = false
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
