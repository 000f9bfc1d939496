import type { Context } from 'hono'
import { deleteCookie, generateSignedCookie, getSignedCookie } from 'hono/cookie'
import type { CookieOptions } from 'hono/utils/cookie'

/** A signed cookie that says which connection a browser may use. The access token stays on the server. */
export interface Session {
  /** The `Set-Cookie` header that begins a session. */
  begin(id: string): Promise<string>
  read(context: Context): Promise<string | undefined>
  end(context: Context): void
}

export function createSession(secret: string, publicUrl: string): Session {
  const name = 'inbox_session'
  const secure = publicUrl.startsWith('https:')
  const prefix = secure ? 'host' : undefined
  // Lax, so that the cookie is there when the login brings the browser back from the service.
  const options: CookieOptions = {
    path: '/',
    httpOnly: true,
    sameSite: 'Lax',
    secure,
    ...(prefix && { prefix }),
    maxAge: 30 * 24 * 60 * 60,
  }
  return {
    begin: (id) => generateSignedCookie(name, id, secret, options),
    read: async (context) => (await getSignedCookie(context, secret, name, prefix)) || undefined,
    end: (context) => void deleteCookie(context, name, options),
  }
}
