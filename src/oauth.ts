/**
 * Logins with OAuth 2.0 and PKCE, request handlers for them, and the store of connections.
 *
 * @module support-workspace-sdk/oauth
 */

export type { Actor } from './actor.ts'

export type {
  AppConnection,
  Connection,
  ConnectionMetadata,
  ConnectionParty,
  SelfConnection,
} from './connections/connection.ts'
export type { ConnectionList, ConnectionListing } from './connections/connection-list.ts'
export { ConnectionStore } from './connections/connection-store.ts'
export {
  ConnectionNotSavedError,
  ConnectionStoreError,
  type ConnectionStoreErrorReason,
} from './connections/connection-store-error.ts'
export type {
  ConnectionFilter,
  ListConnectionsOptions,
  ResealOptions,
  ResealProgress,
  ResealResult,
  SaveOptions,
  WorkspaceOptions,
} from './connections/method-options.ts'
export {
  type PostgresClient,
  type PostgresStorageOptions,
  postgresStorage,
  postgresTable,
} from './connections/postgres-storage.ts'
export {
  type IoredisClient,
  type NodeRedisClient,
  type RedisClient,
  redisStorage,
} from './connections/redis-storage.ts'
export { singleProcessStorage, type UnstorageLike } from './connections/single-process-storage.ts'
export {
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteStorage,
  sqliteStorage,
} from './connections/sqlite-storage.ts'
export { type ConnectionStorage, memoryStorage, type StoragePage } from './connections/storage.ts'
export type { ConnectionStoreOptions } from './connections/store-options.ts'
export {
  type ErrorDetails,
  InvalidArgumentError,
  isSupportWorkspaceError,
  LoginError,
  type LoginErrorReason,
  NetworkError,
  NotLoadedError,
  type Remedy,
  SupportWorkspaceError,
  TimeoutError,
} from './errors/index.ts'
export type { AccessToken } from './oauth/access-token.ts'
export type { CommonAppOptions } from './oauth/app-options.ts'
export type { LoginCallback } from './oauth/callback.ts'
export type { ClientAuthentication } from './oauth/code-exchange.ts'
export { createLoginHandlers, type LoginHandlers } from './oauth/login-handlers.ts'
export type {
  HandlerResult,
  LoginContext,
  LoginErrorContext,
  LoginHandlersOptions,
  LoginStartOptions,
} from './oauth/login-handlers-options.ts'
export { type NodeListenerOptions, type NodeRequest, type NodeResponse, toNodeListener } from './oauth/node-listener.ts'
export { type ExchangeOptions, OAuthApp, type OAuthAppOptions } from './oauth/oauth-app.ts'
export { type AuthorizationCodeGrant, PublicOAuthApp, type PublicOAuthAppOptions } from './oauth/public-oauth-app.ts'
export type { SealSecret } from './oauth/seal.ts'
export type { LoginRequest, StartedLogin } from './oauth/start-login.ts'
export {
  type LoginTransaction,
  openTransaction,
  parseTransaction,
  type SealOptions,
  sealTransaction,
  serializeTransaction,
} from './oauth/transaction.ts'
export { scopesFor } from './resources/scopes-for.ts'
export { type KnownScope, knownScopes, type Scope } from './scopes.ts'
export type { WebHeaders, WebRequest, WebResponse, WebURL } from './web-types.ts'
