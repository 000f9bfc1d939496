import { randomBytes } from 'node:crypto'
import { type CookieOptions, parseSigned, serialize, serializeSigned } from 'hono/utils/cookie'
import type { Connection } from 'support-workspace-sdk/oauth'

/** The login that a session belongs to. A later login to the same workspace has a different `connectedAt`. */
export type Login = Pick<Connection, 'key' | 'connectedAt'>

/** Browser sessions. The signed cookie contains a random id and its expiry. The access token stays on the server. */
export interface Sessions {
  /** Starts a session in place of the browser's current one, and returns the `Set-Cookie` header. */
  begin(request: Request, login: Login): Promise<string>
  /** Returns the login of the browser's session; undefined if there is none or it has expired. */
  find(request: Request): Promise<Login | undefined>
  /** Ends the browser's session, and returns the `Set-Cookie` header. */
  end(request: Request): Promise<string>
}

/** Length of a session, in milliseconds. */
const lifetime = 30 * 24 * 60 * 60 * 1000

export function createSessions(secret: string, publicUrl: string): Sessions {
  const secure = publicUrl.startsWith('https:')
  const name = secure ? '__Host-inbox_session' : 'inbox_session'
  // With Lax, the browser sends the cookie when the service redirects back after a login.
  const options: CookieOptions = { path: '/', httpOnly: true, sameSite: 'Lax', secure }
  // In memory, so a restart ends every session. Several servers need a shared storage instead.
  const logins = new Map<string, Login & { expiresAt: number }>()

  async function idOf(request: Request): Promise<string | undefined> {
    const cookies = await parseSigned(request.headers.get('cookie') ?? '', secret, name)
    const [id, expiresAt] = (cookies[name] || '').split('.')
    return Number(expiresAt) > Date.now() ? id : undefined
  }

  async function deleteSession(request: Request): Promise<void> {
    const id = await idOf(request)
    if (id !== undefined) logins.delete(id)
  }

  return {
    async begin(request, { key, connectedAt }) {
      await deleteSession(request)
      // Entries are in the order in which they expire.
      for (const [id, { expiresAt }] of logins) {
        if (expiresAt > Date.now()) break
        logins.delete(id)
      }
      const id = randomBytes(32).toString('base64url')
      const expiresAt = Date.now() + lifetime
      logins.set(id, { key, connectedAt, expiresAt })
      return serializeSigned(name, `${id}.${expiresAt}`, secret, { ...options, maxAge: lifetime / 1000 })
    },
    async find(request) {
      return logins.get((await idOf(request)) ?? '')
    },
    async end(request) {
      await deleteSession(request)
      return serialize(name, '', { ...options, maxAge: 0 })
    },
  }
}
