import { RequestError } from './request-error.ts'

/** The service gave a cursor that it had given before: following it would never end. No item was lost up to here. */
export class PaginationError extends RequestError {
  static override readonly kind: string = 'PaginationError'
}
