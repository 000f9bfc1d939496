/**
 * Who a token acts as ([specification](docs/service.md#actors)):
 *
 * - `app`: the app itself. Can read and administer, but cannot author content.
 * - `self`: one user in one organization. Can also send messages and notes, start conversations and manage members.
 */
export type Actor = 'app' | 'self'
