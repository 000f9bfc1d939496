// This folder holds the error classes and the redaction of secrets. It imports nothing from other folders.

export {
  ActorSelfRequiredError,
  AlreadyExistsError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  CursorRejectedError,
  InsufficientScopeError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ServerError,
  UnprocessableError,
} from './api-error.ts'
export { LoginError, type LoginErrorReason } from './login-error.ts'
export {
  type Attempt,
  NetworkError,
  type Outcome,
  PaginationError,
  RequestError,
  type ResponseInfo,
  TimeoutError,
  UnexpectedResponseError,
  type UnexpectedResponseReason,
} from './request-error.ts'
export {
  type ErrorDetails,
  InvalidArgumentError,
  isLasting,
  isSupportWorkspaceError,
  type Remedy,
  SupportWorkspaceError,
} from './support-workspace-error.ts'
