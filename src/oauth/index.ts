export type { Actor } from '../actor.ts'
export { ConnectionStoreError, type ConnectionStoreErrorReason } from '../errors/connection-store-error.ts'
export {
  ConnectionError,
  type ErrorDetails,
  InvalidArgumentError,
  isSupportWorkspaceError,
  LoginError,
  type LoginErrorReason,
  SupportWorkspaceError,
  TimeoutError,
} from '../errors/index.ts'
export { type KnownScope, knownScopes, type Scope } from '../scopes.ts'
export type { AccessToken } from './access-token.ts'
export type { LoginCallback } from './callback.ts'
export type { ClientAuthentication } from './client-authentication.ts'
export {
  type AppConnection,
  type Connection,
  type ConnectionFilter,
  type ConnectionList,
  type ConnectionListing,
  type ConnectionMetadata,
  ConnectionNotSavedError,
  type ConnectionParty,
  type ConnectionStorage,
  ConnectionStore,
  type ConnectionStoreOptions,
  type ListConnectionsOptions,
  type ResealOptions,
  type ResealProgress,
  type ResealResult,
  type SaveOptions,
  type SelfConnection,
  type StorageKeys,
} from './connections/index.ts'
export { createLoginHandlers, type LoginHandlers } from './login-handlers.ts'
export type {
  HandlerResult,
  LoginContext,
  LoginErrorContext,
  LoginHandlersOptions,
  LoginStartOptions,
} from './login-handlers-options.ts'
export type { LoginRequest } from './login-request.ts'
export { type NodeListenerOptions, type NodeRequest, type NodeResponse, toNodeListener } from './node-listener.ts'
export { type ExchangeOptions, OAuthApp, type OAuthAppOptions } from './oauth-app.ts'
export { type AuthorizationCodeGrant, PublicOAuthApp, type PublicOAuthAppOptions } from './public-oauth-app.ts'
export { scopesFor } from './scopes.ts'
export type { SealSecret } from './seal.ts'
export { openTransaction, type SealOptions, sealTransaction } from './seal-transaction.ts'
export { parseTransaction, serializeTransaction } from './serialize-transaction.ts'
export type { CommonAppOptions } from './settings.ts'
export type { StartedLogin } from './start-login.ts'
export type { LoginTransaction } from './transaction.ts'
