import type { Client } from '../peers/peer.ts'
import type { Context } from './suite.ts'

/** A client to measure. */
export interface Entrant {
  readonly name: string
  readonly origin: string
  readonly client: Client
}

/** Creates the client of every peer, and those of its variants if `variants` is set. */
export async function connectAll({ peers, services }: Context, { variants = false } = {}): Promise<Entrant[]> {
  const entrants: Entrant[] = []
  for (const [name, peer] of peers) {
    const origin = services.originOf(name)
    const sdk: unknown = await import(peer.package)
    const connect = (label: string, variant?: string) =>
      entrants.push({ name: label, origin, client: peer.connect(sdk, origin, variant) })
    connect(name)
    if (variants) for (const variant of peer.variants ?? []) connect(`${name}, ${variant}`, variant)
  }
  return entrants
}
