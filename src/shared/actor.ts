/**
 * Who a token acts as ([specification](docs/service.md#actors)):
 *
 * - `app` is the app itself. It can read and administer, but cannot author content.
 * - `self` is one user in one organization. It can also send messages and notes, start conversations and manage
 *   members.
 */
export type Actor = 'app' | 'self'
