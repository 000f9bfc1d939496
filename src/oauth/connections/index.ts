export type { ResealOptions, ResealProgress, ResealResult } from './all-connections.ts'
export type {
  AppConnection,
  Connection,
  ConnectionMetadata,
  ConnectionParty,
  SelfConnection,
} from './connection.ts'
export type { ConnectionFilter, ConnectionList, ConnectionListing, ListConnectionsOptions } from './connection-list.ts'
export { ConnectionNotSavedError } from './connection-not-saved-error.ts'
export { ConnectionStore, type SaveOptions } from './connection-store.ts'
export type { ConnectionStorage, StorageKeys } from './storage.ts'
export type { ConnectionStoreOptions } from './store-options.ts'
