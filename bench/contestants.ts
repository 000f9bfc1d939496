import type { Peer } from './peers/peer.ts'

/** Names of the files in `peers/`, which are also the labels of the results. */
export const peerNames = ['support-workspace', 'openai', 'stripe', 'octokit'] as const

export type PeerName = (typeof peerNames)[number]

/** The SDK that this benchmark belongs to. */
export const thisSdk: PeerName = 'support-workspace'

// The path is not a literal, so that the type check of the project does not need the packages of the peers.
export async function loadPeer(name: PeerName): Promise<Peer> {
  return (await import(new URL(`peers/${name}.ts`, import.meta.url).href)).default
}
