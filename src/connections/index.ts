// The store of connections, whose public names are part of `support-workspace-sdk/oauth`.

export type { AppConnection, Connection, ConnectionMetadata, ConnectionParty, SelfConnection } from './connection.ts'
export type { ConnectionList } from './connection-list.ts'
export { ConnectionStore } from './connection-store.ts'
export {
  ConnectionNotSavedError,
  ConnectionStoreError,
  type ConnectionStoreErrorReason,
} from './connection-store-error.ts'
export type {
  ConnectionFilter,
  ListConnectionsOptions,
  ResealOptions,
  ResealProgress,
  ResealResult,
  SaveOptions,
  WorkspaceOptions,
} from './method-options.ts'
export type { ConnectionStoreOptions } from './store-options.ts'
