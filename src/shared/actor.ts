import { checkOneOf } from './check-options.ts'

/**
 * Who a token acts as ([specification](docs/service.md#actors)):
 *
 * - `app` is the app itself. It can read and administer, but cannot author content.
 * - `self` is one user in one organization. The user can also send messages and notes, start conversations and manage
 *   members.
 */
export type Actor = 'app' | 'self'

/** The next step if a call needs a token of the other actor. */
export const actorHint = 'Log in with actor "self" and use that token.'

/** Checks an actor that a caller passed. */
export function checkActor(name: string, actor: unknown): Actor {
  return checkOneOf(name, actor, ['app', 'self'])
}
