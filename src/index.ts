/**
 * The client of a support workspace, its errors, options and models.
 *
 * @module support-workspace-sdk
 */

export type { StandardSchemaV1 } from '@standard-schema/spec'
export type { Actor } from './actor.ts'
export { AdaptiveRateLimiter } from './adaptive/adaptive-rate-limiter.ts'
export type { Call, WithResponse } from './call.ts'
export { type CallArguments, type ConnectedWorkspace, SupportWorkspace } from './client.ts'
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
  NotLoadedError,
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
export type {
  AttemptEndEvent,
  AttemptStartEvent,
  Hooks,
  OperationEndEvent,
  OperationEvent,
  RetryEvent,
  WaitEvent,
} from './http/hooks.ts'
export type {
  AccessTokenOption,
  AccessTokenSource,
  AppInfo,
  BeforeSend,
  CallOptions,
  ClientOptions,
  Drift,
  EndTurn,
  HeadersOption,
  Logger,
  LogLevel,
  RateLimitedCall,
  RateLimiter,
  RequestHeaders,
  Undo,
  ValidationMode,
} from './http/options.ts'
export { RetryAfterLimiter, type RetryAfterLimiterOptions } from './http/retry-after-limiter.ts'
export type { ChangeableOptions } from './http/settings.ts'
export { type Schema, schemas } from './lazy-schemas.ts'
export type { Checkpoint, ListOptions } from './list-options.ts'
export type { Contact, CreateContactBody, UpdateContactBody } from './models/contact.ts'
export type {
  AssignConversationBody,
  Conversation,
  ConversationAssignee,
  CreateConversationBody,
  Group,
  UpdateConversationBody,
} from './models/conversation.ts'
export type { FreeForm } from './models/free-form.ts'
export type { Application, Me } from './models/me.ts'
export type { InviteMemberBody, Member, Role, UpdateMemberBody } from './models/member.ts'
export type {
  Attachment,
  CreateMessageBody,
  CreateNoteBody,
  Message,
  QuotedMessage,
  UpdateMessageBody,
} from './models/message.ts'
export type {
  Organization,
  OrganizationSettings,
  UpdateOrganizationBody,
  UpdateOrganizationSettingsBody,
} from './models/organization.ts'
export type { CreateSegmentBody, Segment, UpdateSegmentBody } from './models/segment.ts'
export type { CreateTaskBody, Task, UpdateTaskBody } from './models/task.ts'
export type { User } from './models/user.ts'
export type { ListQuery } from './operation.ts'
export {
  defineOperation,
  type Envelope,
  type Evidence,
  type InputOf,
  type Method,
  type Operation,
  type OperationInput,
  type OutputOf,
  type QueryValue,
} from './operation.ts'
export type { Page, Paginated } from './pagination.ts'
export type { Contacts } from './resources/contacts.ts'
export type { Conversations } from './resources/conversations.ts'
export type { Members } from './resources/members.ts'
export type { Messages } from './resources/messages.ts'
export type { Notes } from './resources/notes.ts'
export type { OperationId } from './resources/operations.ts'
export type { OrganizationResource } from './resources/organization.ts'
export type { OptionsOf, ResultOf } from './resources/resource.ts'
export type { Segments } from './resources/segments.ts'
export type { Tasks } from './resources/tasks.ts'
export type { KnownScope, Scope } from './scopes.ts'
export { textToHtml } from './text-to-html.ts'
export { toDate } from './time.ts'
export type { FetchInit, FetchResponse, WebFetch } from './web-types.ts'
