/**
 * Logins with OAuth 2.0 and PKCE, request handlers for them, and the store of connections.
 *
 * @module support-workspace-sdk/oauth
 */

export { scopesFor } from '../client/index.ts'
export {
  type AppConnection,
  type Connection,
  type ConnectionFilter,
  type ConnectionList,
  type ConnectionMetadata,
  ConnectionNotSavedError,
  type ConnectionParty,
  ConnectionStore,
  ConnectionStoreError,
  type ConnectionStoreErrorReason,
  type ConnectionStoreOptions,
  type ListConnectionsOptions,
  type ResealOptions,
  type ResealProgress,
  type ResealResult,
  type SaveOptions,
  type SelfConnection,
  type WorkspaceOptions,
} from '../connections/index.ts'
export {
  type ErrorDetails,
  InvalidArgumentError,
  isSupportWorkspaceError,
  LoginError,
  type LoginErrorReason,
  NetworkError,
  type Remedy,
  SupportWorkspaceError,
  TimeoutError,
} from '../errors/index.ts'
export type { AccessToken } from '../shared/access-token.ts'
export type { Actor } from '../shared/actor.ts'
export { type KnownScope, knownScopes, type Scope } from '../shared/scopes.ts'
export type { SealSecret } from '../shared/seal.ts'
export type { WebHeaders, WebRequest, WebResponse, WebURL } from '../shared/web-types.ts'
export {
  type IoredisClient,
  type NodeRedisClient,
  type PostgresClient,
  type PostgresStorageOptions,
  postgresStorage,
  postgresTable,
  type RedisClient,
  redisStorage,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteStorage,
  singleProcessStorage,
  sqliteStorage,
  type UnstorageLike,
} from '../storage/index.ts'
export { type KeyValueStorage, memoryStorage, type StoragePage } from '../storage/interface.ts'
export type { CommonAppOptions } from './app-options.ts'
export type { LoginCallback } from './callback.ts'
export type { ClientAuthentication } from './client-authentication.ts'
export { createLoginHandlers, type LoginHandlers } from './login-handlers.ts'
export type {
  HandlerResult,
  LoginContext,
  LoginErrorContext,
  LoginHandlersOptions,
  LoginStartOptions,
} from './login-handlers-options.ts'
export { type NodeListenerOptions, type NodeRequest, type NodeResponse, toNodeListener } from './node-listener.ts'
export { type ExchangeOptions, OAuthApp, type OAuthAppOptions } from './oauth-app.ts'
export { type AuthorizationCodeGrant, PublicOAuthApp, type PublicOAuthAppOptions } from './public-oauth-app.ts'
export type { LoginRequest, StartedLogin } from './start-login.ts'
export {
  type LoginTransaction,
  openTransaction,
  parseTransaction,
  type SealOptions,
  sealTransaction,
  serializeTransaction,
} from './transaction.ts'
