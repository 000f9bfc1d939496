/**
 * Whom a token acts for (specification, section 5):
 *
 * - `app`: the app only. Reads and admin operations; it may not author content.
 * - `self`: one user in one organization. May send messages and notes, start conversations and manage members.
 */
export type Actor = 'app' | 'self'
