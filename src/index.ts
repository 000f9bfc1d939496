/**
 * The client of a support workspace, its errors, options and models.
 *
 * @module support-workspace-sdk
 */

export type { StandardSchemaV1 } from '@standard-schema/spec'
export { type CallArguments, type ConnectedWorkspace, SupportWorkspace } from './client/client.ts'
export type {
  Application,
  AssignConversationBody,
  Attachment,
  Contact,
  Conversation,
  ConversationAssignee,
  CreateContactBody,
  CreateConversationBody,
  CreateMessageBody,
  CreateNoteBody,
  CreateSegmentBody,
  CreateTaskBody,
  Group,
  InviteMemberBody,
  Me,
  Member,
  Message,
  Organization,
  OrganizationSettings,
  QuotedMessage,
  Segment,
  Task,
  UpdateContactBody,
  UpdateConversationBody,
  UpdateMemberBody,
  UpdateMessageBody,
  UpdateOrganizationBody,
  UpdateOrganizationSettingsBody,
  UpdateSegmentBody,
  UpdateTaskBody,
  User,
} from './client/generated/models.ts'
export { exitCodeOf, jobOptions } from './client/jobs.ts'
export { type Schema, schemas } from './client/lazy-schemas.ts'
export type { FreeForm, Role } from './client/open-types.ts'
export type { OperationId } from './client/resources/built-in-operations.ts'
export type { Contacts } from './client/resources/contacts.ts'
export type { Conversations } from './client/resources/conversations.ts'
export type { Members } from './client/resources/members.ts'
export type { Messages } from './client/resources/messages.ts'
export type { Notes } from './client/resources/notes.ts'
export type { OrganizationResource } from './client/resources/organization.ts'
export type { Segments } from './client/resources/segments.ts'
export type { Tasks } from './client/resources/tasks.ts'
export type { Call, PageCursors, Reply, WithResponse } from './core/call.ts'
export type { OptionsOf, ResultOf } from './core/call-operation.ts'
export type {
  AttemptEndEvent,
  AttemptStartEvent,
  Hooks,
  OperationEndEvent,
  OperationEvent,
  RetryEvent,
  WaitEvent,
} from './core/hooks.ts'
export type { Checkpoint, ListOptions } from './core/list-options.ts'
export type { Middleware, OutgoingCall } from './core/middleware.ts'
export {
  defineOperation,
  type Envelope,
  type Evidence,
  type InputOf,
  type ListQuery,
  type Method,
  type Operation,
  type OperationInput,
  type OutputOf,
  type QueryValue,
} from './core/operation.ts'
export type {
  AccessTokenOption,
  AccessTokenSource,
  AppInfo,
  CallOptions,
  ClientOptions,
  Drift,
  HeadersOption,
  Logger,
  LogLevel,
  RequestHeaders,
  ValidationMode,
} from './core/options.ts'
export type { Page, Paginated } from './core/pagination.ts'
export type { ChangeableOptions } from './core/settings.ts'
export {
  ActorSelfRequiredError,
  AlreadyExistsError,
  ApiError,
  type Attempt,
  AuthenticationError,
  BadRequestError,
  CursorRejectedError,
  InsufficientScopeError,
  InvalidArgumentError,
  isSupportWorkspaceError,
  NetworkError,
  NotFoundError,
  type Outcome,
  PaginationError,
  PermissionDeniedError,
  RateLimitError,
  type Remedy,
  RequestError,
  type ResponseInfo,
  ServerError,
  SupportWorkspaceError,
  TimeoutError,
  UnexpectedResponseError,
  type UnexpectedResponseReason,
  UnprocessableError,
} from './errors/index.ts'
export type { RequestErrorDetails } from './errors/request-error.ts'
export {
  AdaptiveRateLimiter,
  type AdaptiveRateLimiterOptions,
  type EndTurn,
  type RateLimitedCall,
  type RateLimiter,
  type RefusedRequest,
} from './rate-limiter/index.ts'
export type { Actor } from './shared/actor.ts'
export type { KnownScope, Scope } from './shared/scopes.ts'
export { textToHtml } from './shared/text-to-html.ts'
export { toDate } from './shared/time.ts'
export type { FetchInit, FetchResponse, WebFetch } from './shared/web-types.ts'
