import type { PeerName } from '../contestants.ts'
import type { Peer } from '../peers/peer.ts'
import type { Services } from '../server/services.ts'
import type { Figure } from '../statistics.ts'

/** A group of measurements. */
export interface Suite {
  /** The value that tables and charts show. */
  readonly shows: string
  /** Unit of that value. */
  readonly unit: string
  run(context: Context): Promise<Row[]>
}

export interface Context {
  readonly peers: ReadonlyMap<PeerName, Peer>
  readonly services: Services
  /** Returns the number of blocks: the given one, or a few in a quick run. */
  blocks(count: number): number
  /** Reports that `done` of `total` steps are finished. */
  progress(done: number, total: number, step: string): void
}

/** The results of one SDK in one setting. */
export interface Row {
  /** Name of the peer, with the variant if it is not the default. */
  readonly name: string
  readonly setting: string
  readonly values: Readonly<Record<string, Figure | number>>
}
