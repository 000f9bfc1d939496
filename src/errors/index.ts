export {
  ActorSelfRequiredError,
  ApiError,
  AuthenticationError,
  BadRequestError,
  InsufficientScopeError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  type ResponseInfo,
  ServerError,
  UnprocessableError,
} from './api-error.ts'
export { InvalidArgumentError } from './invalid-argument-error.ts'
export { LoginError, type LoginErrorReason } from './login-error.ts'
export { PaginationError } from './pagination-error.ts'
export { type Attempt, ConnectionError, type Outcome, RequestError, TimeoutError } from './request-error.ts'
export { type ErrorDetails, isSupportWorkspaceError, SupportWorkspaceError } from './support-workspace-error.ts'
export { UnexpectedResponseError, type UnexpectedResponseReason } from './unexpected-response-error.ts'
